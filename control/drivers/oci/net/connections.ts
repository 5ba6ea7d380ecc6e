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

interface Deps {
  readonly log: Log
  readonly clock: Clock
}

/** Tried in a network namespace that ends with the attempt. */
const failureToMatch = (step: string, match: string, { clock }: Deps): Promise<unknown> => {
  const rule = ['--wait', '10', '-A', 'FORWARD', ...match.split(' '), '-j', 'DROP']
  const args = ['--net', tool('iptables'), ...rule]
  return failureOf(() => run({ step, file: tool('unshare'), args }), clock)
}

/** The limit, or undefined where it cannot be kept. */
export const datagramLimit = async (deps: Deps): Promise<number | undefined> => {
  const error = await failureToMatch('datagram limit', tooFast(mostDatagrams, 'hutch-trial'), deps)
  if (!error) return mostDatagrams
  deps.log.warn('datagrams.unlimited', { error, next: 'load the kernel module xt_hashlimit' })
  return undefined
}

/** The limit, or undefined where it cannot be kept. */
export const connectionLimit = async (deps: Deps): Promise<number | undefined> => {
  const error = await failureToMatch('connection limit', tooMany(most), deps)
  if (!error) return most
  deps.log.warn('connections.unlimited', { error, next: 'load the kernel module xt_connlimit' })
  return undefined
}
