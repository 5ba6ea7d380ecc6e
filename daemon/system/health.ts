import type { BuildInfo } from '../build.ts'
import type { Clock } from '../../shared/clock.ts'
import type { LastUpgrade } from '../../shared/wire/system.ts'
import { goArch, goDuration } from '../go-spelling.ts'
import { rfc3339Seconds } from '../times.ts'

/** Makes the report on the daemon, which counts as started when it became whose it is. */
export const createHealthReport = (deps: {
  clock: Clock
  build: BuildInfo
  upgradeCount: number
  lastUpgrade: () => LastUpgrade
  /** By the clock's `now` and `elapsed`. */
  begun: () => { readonly now: number; readonly elapsed: number }
}) => {
  const { clock, build, upgradeCount, lastUpgrade, begun } = deps
  return () => {
    const { now, elapsed } = begun()
    const startedAt = rfc3339Seconds(now)
    const uptimeSeconds = Math.round(clock.elapsed() - elapsed) / 1000
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
