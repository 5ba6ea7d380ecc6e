/** What listens: the management API, the gateway, previews and pages, made around a running host. */
import type { Closing } from '../../shared/closing.ts'
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import type { Config } from '../base/config.ts'
import type { KeyUses } from '../core/access/key-uses.ts'
import type { OpenBuilds } from '../core/builds/open.ts'
import type { ImageUpkeep } from '../core/images/upkeep/upkeep.ts'
import type { Kinds } from '../core/kinds/index.ts'
import type { SnapshotService } from '../core/kinds/sandbox/snapshots/service.ts'
import type { Runner } from '../core/machines/runner.ts'
import type { Models } from '../core/models/open.ts'
import type { Warm } from '../core/machines/warm/warm.ts'
import { workspaceRemover } from '../core/records/remove-workspace.ts'
import type { MachineDrives } from '../core/storage/drives/machine-drives.ts'
import type { Written } from '../core/store/store.ts'
import type { Changes } from '../core/transitions/changes.ts'
import type { Transition } from '../core/transitions/transition.ts'
import type { Outbound } from '../network/outbound/outbound.ts'
import type { WayOut } from '../network/outbound/way-out.ts'
import type { Metrics } from '../ops/metrics/metrics.ts'
import { createApi } from '../server/api/index.ts'
import { knownAddresses } from '../server/api/known-addresses.ts'
import { rootAddresses } from '../server/api/root-addresses.ts'
import { frontListener } from '../server/front.ts'
import { openDomains } from '../server/proxy/previews/domains.ts'
import { openPreviews } from '../server/proxy/previews/open.ts'
import { serveFront, type Served } from '../server/serving.ts'
import { createPeople } from '../server/web/people.ts'
import { abilitiesOf } from './abilities.ts'
import type { Addresses } from './addresses.ts'
import { callersOf } from './callers.ts'
import { callsOf } from './calls.ts'
import { gatewayOf } from './gateway.ts'
import type { KindsByName, Verbs } from './kinds.ts'
import type { Parts } from './parts.ts'
import { furtherRoutes } from './watch.ts'

export interface Server {
  readonly api: Dispatcher
  /** Serves on one port; resolves with the address. */
  listen(): Promise<{ url: string } & Served>
}

/** Is told of each transaction after it is written. */
export interface WrittenListener {
  written(written: Written): void
}

/** What of a running host its server uses. */
export interface ServedHost {
  readonly addresses: Addresses
  readonly builds: OpenBuilds
  readonly draining: () => boolean
  readonly drives: MachineDrives | undefined
  readonly keyUses: KeyUses
  readonly kinds: Kinds
  /** How far the bill is behind, ms. */
  readonly meterLagMs: () => number
  readonly metrics: Metrics
  readonly models: Models
  readonly move: Transition
  readonly outbound: Outbound | undefined
  readonly rules: KindsByName
  readonly runner: Runner
  readonly snapshots: SnapshotService
  /** Has a listener told of each transaction from now on. */
  readonly tell: (listener: WrittenListener) => void
  readonly upkeep: ImageUpkeep
  readonly verbs: Verbs
  readonly warm: Warm
  /** Who waits for changes of records. */
  readonly waiting: Changes
  readonly wayOut: WayOut | undefined
}

export const createServer = async (
  config: Config,
  parts: Parts,
  host: ServedHost,
  closer: Closing,
): Promise<Server> => {
  const { log, store } = parts
  const { addresses, draining, drives, kinds, meterLagMs, metrics, move, outbound, rules, runner, verbs } = host
  const { upkeep, warm, wayOut } = host
  const domains = await openDomains(store, config, host.tell)
  const later = { publicUrl: addresses.publicUrl, transition: () => move, uses: host.keyUses }
  const callers = await callersOf(config, parts, later, closer)
  const people = createPeople({ ...parts, ...addresses, rules, sandboxDomain: config.sandboxDomain })
  const watched = { metrics, kinds: rules, runner, warm, draining, meterLagMs }
  const api = createApi({
    ...parts,
    ...people,
    ...callers,
    upkeep,
    builds: host.builds,
    publicUrl: addresses.publicUrl,
    apiVersions: config.apiVersions,
    removeWorkspace: workspaceRemover({ transition: move, poke: runner.poke }),
    verbs: Object.values(verbs),
    outbound: outbound?.engine,
    abilities: abilitiesOf(config, parts, wayOut),
    routes: furtherRoutes(config, { ...parts, ...callers }, watched),
    logRequests: true,
  })
  const { models, snapshots, waiting: changes } = host
  const around = {
    rules,
    runner,
    callers,
    outbound,
    people,
    drives,
    metrics,
    models,
    snapshots,
    transition: move,
    changes,
  }
  const { calls, startCalls } = await callsOf(config, parts, around, closer)
  const planes = { gateway: gatewayOf(config, parts, around), calls }
  const previews = openPreviews(config, { ...parts, ...people, ...callers, ...runner, domains, kinds: rules })
  await startCalls()
  return {
    api,
    async listen() {
      const rootAddress = rootAddresses(Object.values(kinds), knownAddresses)
      const front = frontListener({ ...callers, ...planes, api, people, previews, rootAddress, log })
      const served = await serveFront(config, front, { ...parts, ...people, ...previews }, closer)
      return { url: addresses.listening(served.port), ...served }
    },
  }
}
