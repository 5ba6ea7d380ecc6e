import type { BuildInfo } from '../build.ts'
import type { Clock } from '../../shared/clock.ts'
import type { LastUpgrade } from '../../shared/wire/system.ts'
import { goArch, goDuration } from '../go-spelling.ts'
import { rfc3339Seconds } from '../times.ts'

/** Makes the report on the daemon, which counts as started when this is called. */
export const createHealthReport = (deps: {
  clock: Clock
  build: BuildInfo
  upgradeCount: number
  lastUpgrade: () => LastUpgrade
}) => {
  const { clock, build, upgradeCount, lastUpgrade } = deps
  const startedAt = rfc3339Seconds(clock.now())
  const start = clock.elapsed()
  return () => {
    const uptimeSeconds = Math.round(clock.elapsed() - start) / 1000
    return {
      status: 'ok' as const,
      ...build,
      goVersion: process.version,
      os: process.platform,
      arch: goArch(process.arch),
      uptime: goDuration(uptimeSeconds),
      uptimeSeconds,
      upgradeCount,
      startedAt,
      lastUpgrade: lastUpgrade(),
    }
  }
}
