/** The gateway of this host. */
import { wireNames as spellings } from '../../shared/wire-names.ts'
import type { People } from '../server/web/people.ts'
import { withCheckpoints } from '../server/proxy/checkpoints/answers.ts'
import type { Config } from '../base/config.ts'
import { driveAnswers } from '../server/proxy/drive-answers.ts'
import type { MachineDrives } from '../core/storage/drives/machine-drives.ts'
import { forwarder } from '../server/proxy/gateway/forward.ts'
import { gateway, type Gateway, type GatewayDeps } from '../server/proxy/gateway/gateway.ts'
import { allowedTunnels } from '../server/proxy/gateway/held-tunnel.ts'
import { resolver } from '../server/proxy/gateway/resolve.ts'
import { reviver } from '../server/proxy/gateway/unsent.ts'
import type { KindsByName } from './kinds.ts'
import { modelHandlers } from './models.ts'
import type { SnapshotService } from '../core/kinds/sandbox/snapshots/service.ts'
import type { Runner } from '../core/machines/runner.ts'
import type { Metrics } from '../ops/metrics/metrics.ts'
import type { Models } from '../core/models/open.ts'
import type { Outbound } from '../network/outbound/outbound.ts'
import type { Parts } from './parts.ts'

export const gatewayOf = (
  config: Config,
  parts: Parts,
  deps: {
    rules: KindsByName
    runner: Runner
    callers: Pick<GatewayDeps, 'keys' | 'standing'>
    outbound: Outbound | undefined
    people: People
    drives: MachineDrives | undefined
    metrics: Pick<Metrics, 'answered'>
    models: Models
    snapshots: SnapshotService
  },
): Gateway => {
  const { store, names, connections } = parts
  const { rules, runner, callers, outbound, people, drives, metrics, models, snapshots } = deps
  const forms = [...rules.values()].flatMap(({ kind, plural, dataPlane }) =>
    dataPlane ? [{ kind, plural, label: dataPlane.label, scope: dataPlane.scope }] : [],
  )
  const { regions, wireNames } = config
  const held = {
    holds: (uid: string) => outbound?.holds(uid) ?? false,
    lets: (uid: string, address: string, port: number) => outbound?.engine.letsDatagrams(uid, address, port) ?? false,
  }
  const answers = withCheckpoints(
    snapshots.checkpoints,
    parts,
    allowedTunnels(held, drives && driveAnswers(drives, parts)),
  )
  return gateway(
    { forms, regions, names: spellings(wireNames), credentialHeaders: names.credentialHeaders },
    {
      ...parts,
      ...people,
      ...callers,
      resolve: resolver({ store, rules }),
      hold: runner.hold,
      holdNow: runner.holdNow,
      revive: reviver(connections, runner.hasEnded),
      forwarder: forwarder(connections),
      answers,
      handlers: modelHandlers(models),
      answered: metrics.answered,
    },
  )
}
