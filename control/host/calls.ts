/** Calls of this host's servers: agents, functions, applications. */
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
import { createBalancer } from '../core/workloads/balance.ts'
import { createWatcher, usualBounds } from '../server/proxy/calls/bounds.ts'
import { createCalls, type Calls, type CallsDeps } from '../server/proxy/calls/calls.ts'
import { createScaler } from '../core/workloads/scale.ts'

export const callsOf = (
  config: Config,
  parts: Parts,
  deps: {
    rules: KindsByName
    runner: Pick<Runner, 'hold' | 'poke'>
    transition: Pick<Transition, 'write'>
    changes: Changes
    callers: Pick<CallsDeps, 'keys' | 'standing'>
    people: Pick<People, 'admitted'>
    metrics: Pick<Metrics, 'answered'>
  },
  closer: Closing,
): Calls => {
  const { store, names, connections, clock } = parts
  const { rules: kinds, runner, transition, changes, callers, people, metrics } = deps
  const wire = spellings(config.wireNames)
  const scaler = createScaler({ store, transition, poke: runner.poke })
  const watcher = createWatcher(clock, usualBounds)
  closer.add('calls', watcher.close)
  return createCalls(
    {
      forms: [...kinds.values()].flatMap(({ kind, plural, server }) =>
        server ? [{ kind, plural, label: server.label, scope: server.scope, isWhole: true }] : [],
      ),
      regions: config.regions,
      words: config.wireNames.map(({ header }) => header),
      ourHeaders: wire.header(''),
    },
    {
      ...parts,
      ...callers,
      kinds,
      balancer: createBalancer({ store, changes, hold: runner.hold, scaler }),
      watcher,
      forwarder: forwarder(connections),
      admitted: people.admitted,
      answered: metrics.answered,
      identityOf: identityWriter(wire),
      credentialHeaders: names.credentialHeaders,
      never: identityHeaders(wire),
    },
  )
}
