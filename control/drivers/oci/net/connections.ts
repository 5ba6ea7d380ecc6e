/** Whether this box can count the connections and datagrams of a machine: not every kernel has the parts that do. */
import type { Clock } from '../../../../shared/clock.ts'
import type { Log } from '../../../../shared/log.ts'
import { run, tool } from '../command.ts'
import { failureOf } from './trial.ts'

/**
 * Connections one machine may have open to the outside. All machines and the box itself share one table of them
 * (nf_conntrack_max, usually 262144); without a limit one tenant fills it in seconds, and nobody is reached any more.
 */
const most = 4_096

/** Matches a new connection of a machine that has as many as it may. */
export const tooMany = (connections: number): string =>
  `-m conntrack --ctstate NEW -m connlimit --connlimit-above ${connections} --connlimit-mask 32 --connlimit-saddr`

/** UDP that a machine that is held to a policy may send to the box each second: each datagram is a turn of the server's, whatever becomes of it. */
const mostDatagrams = 20_000

/** Matches UDP of a machine that has sent as much as it may; `name` is the instance's. */
export const tooFast = (datagrams: number, name: string): string =>
  `-p udp -m hashlimit --hashlimit-above ${datagrams}/sec --hashlimit-burst ${datagrams} --hashlimit-mode srcip --hashlimit-name ${name}`

/** What is bounded, by the match of the rule that does it. */
const bounds = {
  connections: { most, match: tooMany(most), module: 'xt_connlimit' },
  datagrams: { most: mostDatagrams, match: tooFast(mostDatagrams, 'hutch-trial'), module: 'xt_hashlimit' },
} as const

export type Bounded = keyof typeof bounds

/** What to do where it cannot be bounded. */
export const nextFor = (what: Bounded): string => `load the kernel module ${bounds[what].module}`

/** Why the box cannot bound it, or undefined where it can. Tried in a network namespace that ends with the attempt. */
export const failureToBound = (what: Bounded, clock: Pick<Clock, 'sleep'>): Promise<unknown> => {
  const rule = ['--wait', '10', '-A', 'FORWARD', ...bounds[what].match.split(' '), '-j', 'DROP']
  const args = ['--net', tool('iptables'), ...rule]
  return failureOf(() => run({ step: `limit of ${what}`, file: tool('unshare'), args }), clock)
}

interface Deps {
  readonly log: Log
  readonly clock: Clock
}

/** The limit, or undefined where it cannot be kept. */
export const limitOf = async (what: Bounded, { log, clock }: Deps): Promise<number | undefined> => {
  const error = await failureToBound(what, clock)
  if (!error) return bounds[what].most
  log.warn(`${what}.unlimited`, { error, next: nextFor(what) })
  return undefined
}
