/** What whoever watches over this host is told: whether it works, and what was measured. */
import { statfs } from 'node:fs/promises'
import { billingRoutes } from '../server/api/billing.ts'
import { healthRoutes } from '../server/api/health.ts'
import { invitationRoutes } from '../server/api/invitations.ts'
import { scheduleRoutes } from '../server/api/schedules.ts'
import { oauthRoutes, type OAuthDeps } from '../server/api/oauth.ts'
import { warmRoutes } from '../server/api/warm.ts'
import type { Config } from '../base/config.ts'
import { createHealth } from '../ops/health/health.ts'
import type { KindsByName } from './kinds.ts'
import type { Runner } from '../core/machines/runner.ts'
import type { Metrics } from '../ops/metrics/metrics.ts'
import type { Parts } from './parts.ts'
import type { Bound } from '../../shared/route.ts'
import type { Warm } from '../core/machines/warm/warm.ts'

interface Watched {
  readonly metrics: Metrics
  readonly kinds: KindsByName
  readonly runner: Pick<Runner, 'surveyed'>
  readonly warm: Warm
  readonly draining: () => boolean
  readonly meterLagMs: () => number
}

const bytesPerMb = 1024 * 1024

const storageOf = async ({ preferred }: Parts['drivers']) => {
  const room = await preferred.storage?.room()
  if (!room) return undefined
  const promised = [...room.promised.values()].reduce((sum, mb) => sum + mb, 0)
  return {
    used: room.usedMb * bytesPerMb,
    promised: promised * bytesPerMb,
    free: Math.max(0, room.freeMb) * bytesPerMb,
  }
}

const watchRoutes = ({ dataDir }: Config, parts: Parts, watched: Watched): Bound[] => {
  const { store, clock, drivers } = parts
  const { metrics, kinds, runner, warm, draining, meterLagMs } = watched
  const { upkeep } = store
  const withMachines = [...kinds.values()].filter(({ workload }) => workload).map(({ kind }) => kind)
  return healthRoutes({
    health: createHealth({ dataDir, upkeep, surveyed: runner.surveyed, draining, clock }),
    metrics: {
      contentType: metrics.contentType,
      text: () =>
        metrics.text({
          tally: () => upkeep.tally(withMachines),
          pools: warm.report,
          meterLagMs,
          disk: async () => {
            const { bavail, blocks, bsize } = await statfs(dataDir)
            return { free: bavail * bsize, size: blocks * bsize }
          },
          storage: () => storageOf(drivers),
          draining,
        }),
    },
  })
}

/** What is no kind's: the bill, and what operators ask. */
export const furtherRoutes = (config: Config, parts: Parts & OAuthDeps, watched: Watched): Bound[] => [
  ...oauthRoutes(parts),
  ...invitationRoutes(parts),
  ...scheduleRoutes(parts),
  ...billingRoutes({ ...parts, prices: config.prices }),
  ...warmRoutes(watched.warm),
  ...watchRoutes(config, parts, watched),
]
