/** Calls of this host's servers: agents, functions, applications. */
import { join } from 'node:path'
import type { Closing } from '../../shared/closing.ts'
import { wireNames as spellings } from '../../shared/wire-names.ts'
import type { People } from '../server/web/people.ts'
import type { Config } from '../base/config.ts'
import { forwarder } from '../server/proxy/gateway/forward.ts'
import { identityHeaders, identityWriter } from '../server/proxy/gateway/identity.ts'
import type { KindsByName } from './kinds.ts'
import type { Runner } from '../core/machines/runner.ts'
import type { Metrics } from '../ops/metrics/metrics.ts'
import type { Parts } from './parts.ts'
import type { Changes } from '../core/transitions/changes.ts'
import type { Transition } from '../core/transitions/transition.ts'
import { createAsyncCalls } from '../core/workloads/async/calls.ts'
import { openCallStore } from '../core/workloads/async/stored.ts'
import { createBalancer, type Balancer } from '../core/workloads/balance.ts'
import { createWatcher, usualBounds } from '../server/proxy/calls/bounds.ts'
import { createCalls, type Calls, type CallsDeps } from '../server/proxy/calls/calls.ts'
import { healer } from '../core/workloads/heal.ts'
import { createLoads } from '../core/workloads/loads.ts'
import { createScaler } from '../core/workloads/scale.ts'
import { createSticky } from '../core/workloads/sticky.ts'

interface Around {
  readonly rules: KindsByName
  readonly runner: Pick<Runner, 'hold' | 'poke'>
  readonly transition: Pick<Transition, 'write'>
  readonly changes: Changes
  readonly callers: Pick<CallsDeps, 'keys' | 'standing'>
  readonly people: Pick<People, 'admitted'>
  readonly metrics: Pick<Metrics, 'answered'>
}

const balancerOf = (
  { store, clock, log }: Parts,
  { rules: kinds, runner, transition, changes }: Around,
  closer: Closing,
): Balancer => {
  const scaler = createScaler({ store, transition, poke: runner.poke })
  const loads = createLoads({ clock, log, scaler, freed: changes.changed }, closer)
  return createBalancer({ store, kinds, changes, hold: runner.hold, scaler, loads, sticky: createSticky(clock) })
}

export const callsOf = async (
  config: Config,
  parts: Parts,
  deps: Around,
  closer: Closing,
): Promise<{ calls: Calls; startCalls: () => Promise<void> }> => {
  const { names, connections, clock } = parts
  const { rules: kinds, callers, people, metrics } = deps
  const wire = spellings(config.wireNames)
  const balancer = balancerOf(parts, deps, closer)
  const watcher = createWatcher(clock, usualBounds)
  closer.add('calls', watcher.close)
  const words = config.wireNames.map(({ header }) => header)
  const later = createAsyncCalls(
    { words, origins: config.callbackOrigins },
    { ...parts, balancer, calls: await openCallStore(join(config.dataDir, 'calls'), parts) },
    closer,
  )
  const calls = createCalls(
    {
      forms: [...kinds.values()].flatMap(({ kind, plural, server }) =>
        server ? [{ kind, plural, label: server.label, scope: server.scope, isWhole: true }] : [],
      ),
      regions: config.regions,
      threadHeaders: names.threadHeaders,
      stickyCookie: `${config.wireNames[0]?.short ?? 'hutch'}-revision`,
      words,
      ourHeaders: wire.header(''),
    },
    {
      ...parts,
      ...callers,
      kinds,
      balancer,
      later,
      heal: healer({ ...parts, transition: deps.transition, poke: deps.runner.poke }),
      watcher,
      forwarder: forwarder(connections),
      admitted: people.admitted,
      answered: metrics.answered,
      identityOf: identityWriter(wire),
      credentialHeaders: names.credentialHeaders,
      never: identityHeaders(wire),
    },
  )
  return { calls, startCalls: later.start }
}
