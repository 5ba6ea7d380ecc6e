/** Whether this box can count the connections of a machine: not every kernel has the part that does. */
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

/** The limit, or undefined where it cannot be kept; tried in a network namespace that ends with the attempt. */
export const connectionLimit = async ({ log, clock }: { log: Log; clock: Clock }): Promise<number | undefined> => {
  const rule = ['--wait', '10', '-A', 'FORWARD', ...tooMany(most).split(' '), '-j', 'DROP']
  const args = ['--net', tool('iptables'), ...rule]
  const error = await failureOf(() => run({ step: 'connection limit', file: tool('unshare'), args }), clock)
  if (!error) return most
  log.warn('connections.unlimited', { error, next: 'load the kernel module xt_connlimit' })
  return undefined
}
