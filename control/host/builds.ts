/** How this host builds images: what its records need, and what opens the builds once machines are looked after. */
import type { Closing } from '../../shared/closing.ts'
import type { Reaching } from '../core/builds/builder/machine.ts'
import { buildRules, openBuilds, type OpenBuilds } from '../core/builds/open.ts'
import type { Config } from '../base/config.ts'
import type { KindsByName } from './kinds.ts'
import type { Runner } from '../core/machines/runner.ts'
import { surroundingsOf } from '../network/outbound/surroundings.ts'
import type { WayOut } from '../network/outbound/way-out.ts'
import { daemonCalls } from '../library/daemon.ts'
import { exec } from '../library/exec.ts'
import type { Parts } from './parts.ts'
import type { Rules, RulesByKind } from '../core/transitions/rules.ts'
import type { Transition } from '../core/transitions/transition.ts'

/** What is made after the builds, and which they use. */
interface Later {
  readonly kinds: KindsByName
  readonly transition: () => Transition
  readonly runner: () => Runner
}

export interface Building {
  readonly rules: readonly Rules[]
  open(later: Later, closer: Closing): Promise<OpenBuilds>
}

export const withRules = (rules: RulesByKind, more: readonly Rules[]): RulesByKind =>
  new Map<string, Rules>([...rules, ...more.map(one => [one.kind, one] as const)])

export const buildingOf = async (
  config: Config,
  parts: Parts & { readonly publicUrl: () => string },
  wayOut: WayOut | undefined,
): Promise<Building> => {
  const surroundings = await surroundingsOf(config)
  const { publicUrl, lent } = parts
  return {
    rules: buildRules(config, parts, { wayOut, surroundings }),
    open({ kinds, transition, runner }, closer) {
      const hold: Runner['hold'] = (owner, signal, known) => runner().hold(owner, signal, known)
      const poke: Runner['poke'] = (kind, uid) => runner().poke(kind, uid)
      const trusts = Boolean((wayOut ?? surroundings)?.trusted)
      const call = daemonCalls({ hold, connections: parts.connections })
      const reaching: Reaching = { call, exec: (owner, options) => exec(owner, options, { call, ids: parts.ids }) }
      return openBuilds(config, parts, { ...reaching, kinds, transition, poke, publicUrl, trusts, lent }, closer)
    },
  }
}
