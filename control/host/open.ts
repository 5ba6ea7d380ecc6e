/** The library's face of a host: what `openHost` answers. */
import { systemClock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'
import type { MetricsAnswer } from '../../shared/wire/billing.ts'
import type { Config } from '../base/config.ts'
import { queryMetrics } from '../core/metering/metrics.ts'
import type { MetricsQuery } from '../core/metering/question.ts'
import { imageLibrary, type ImageLibrary } from '../library/images.ts'
import { configOf } from '../library/options.ts'
import { sandboxLibrary, type SandboxLibrary } from '../library/sandboxes.ts'
import { createHost, type Host, type HostDeps } from './host.ts'

/** Parameters of `GET /v0/accounts/{id}/metrics`; times are RFC 3339 in UTC. */
export type UsageQuery = Pick<MetricsQuery, 'startTime' | 'endTime'> & Partial<MetricsQuery>

export interface Hutch {
  /** Sandboxes of the workspace `default`. */
  readonly sandboxes: SandboxLibrary
  /** The same of another workspace, by name or id. Throws `not_found`. */
  workspace(nameOrId: string): Promise<{ readonly sandboxes: SandboxLibrary }>
  readonly images: ImageLibrary
  /** Cost and usage, as `GET /v0/accounts/{id}/metrics` answers them. */
  usage(query: UsageQuery): Promise<MetricsAnswer>
  /** Also serves the management API and the gateway on the configured port; resolves with the address. */
  listen(): Promise<{ url: string; port: number }>
  /** The key of the first start, for HTTP. */
  readonly adminKey: string
  /** Stops looking after the sandboxes and closes everything; they run on. Calls under way reject. */
  close(): Promise<void>
}

/** Name recorded in createdBy of what the library makes. */
const actorName = 'library'

const libraryOf = (host: Host, config: Config, deps: HostDeps): Hutch => {
  const { verbs, store, runner, first, connections, drives } = host
  let closed: Promise<void> | undefined
  const needOpen = () => {
    if (closed) throw fail('unavailable', { what: 'this host is closed', next: 'open another one' })
  }
  const shared = { verbs: verbs.sandbox, store, hold: runner.hold, connections, ids: deps.ids, drives, needOpen }
  const of = (workspace: string): SandboxLibrary => sandboxLibrary({ workspace, name: actorName, admin: true }, shared)
  return {
    sandboxes: of(first.workspace),
    async workspace(nameOrId) {
      needOpen()
      const found = await store.tenants.workspace(nameOrId)
      if (!found) throw fail('not_found', { kind: 'workspace', name: nameOrId })
      return { sandboxes: of(found.name) }
    },
    images: imageLibrary({ images: host.images, needOpen }),
    async usage(query) {
      needOpen()
      return queryMetrics(
        { store, prices: config.prices, clock: deps.clock, cursors: host.cursors },
        { account: first.account, accountAdmin: true },
        query as MetricsQuery,
      )
    },
    async listen() {
      needOpen()
      return host.listen()
    },
    adminKey: first.adminKey,
    close: () => (closed ??= host.close()),
  }
}

export const open = async (config: Partial<Config>, overrides: Partial<HostDeps>): Promise<Hutch> => {
  const whole = configOf(config)
  const deps: HostDeps = { clock: systemClock(), ids: randomIds(), log: silentLog, ...overrides }
  return libraryOf(await createHost(whole, deps), whole, deps)
}
