import { stateTable } from './state-table.ts'

/**
 * The life of a machine, whoever owns it.
 *
 * - `started`: its daemon answered           - `suspended` / `resumed`: frozen when idle, thawed by the next use
 * - `claimed`: asleep, it was given to another owner, whose it is to become
 * - `lost`: it ended by itself and is started again with its files
 * - `restart`: asked for; its machine is ended, and started again with its files once that is done (`ended`)
 * - `stop`: it is not wanted any more; it goes with everything it holds, and its row with it
 */
export const instanceLife = stateTable('starting', {
  starting: { started: 'running', stop: 'stopping' },
  running: { suspended: 'standby', lost: 'starting', restart: 'restarting', stop: 'stopping' },
  standby: { resumed: 'running', claimed: 'starting', lost: 'starting', restart: 'restarting', stop: 'stopping' },
  restarting: { ended: 'starting', stop: 'stopping' },
  stopping: { stop: 'stopping' },
})

export type InstanceEvent = 'started' | 'suspended' | 'resumed' | 'claimed' | 'lost' | 'restart' | 'ended' | 'stop'

/** It has a machine that can be reached, awake or after waking it. */
export const isUp = ({ status }: { readonly status: string }): boolean => status === 'running' || status === 'standby'
