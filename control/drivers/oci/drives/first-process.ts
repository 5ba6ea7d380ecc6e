/** The machine's first process, for entering what only it and its children see. */
import { readFile } from 'node:fs/promises'
import { errno, fail } from '../../../../shared/errors.ts'
import { processesIn } from '../cgroup/processes.ts'
import { groupOf, type Context } from '../context.ts'
import { lookAt } from '../phase.ts'

/** Pid in the innermost namespace, by the text of /proc/PID/status; undefined when it is in no other than ours. */
export const innermostPid = (status: string): number | undefined => {
  const pid = /^NSpid:\s*\d+\s(?:.*\s)?(\d+)$/m.exec(status)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

const textOf = async (file: string): Promise<string> =>
  readFile(file, 'utf8').catch(error => {
    if (['ENOENT', 'ESRCH'].includes(errno(error) ?? '')) return ''
    throw error
  })

/** A tenant can make no pid namespace of its own, so one process of the group is number 1. */
const find = async (context: Context, id: string): Promise<number | undefined> => {
  const pids = await processesIn(context.hierarchy, groupOf(context.names, id))
  for (const pid of pids.toSorted((a, b) => a - b))
    if (innermostPid(await textOf(`/proc/${pid}/status`)) === 1) return pid
  return undefined
}

/**
 * Opens something of the machine's first process by its directory in /proc. The number may be somebody else's by the
 * time it is used, and while a machine starts its first process still has the host's root; so both are looked at again
 * when `open` is done: who is found then, in a machine whose daemon has answered, is whom `open` saw.
 */
export const ofFirstProcess = async <T>(
  context: Context,
  id: string,
  open: (directory: string) => Promise<T>,
  discard: (opened: T) => Promise<void> = async () => {},
): Promise<T> => {
  const pid = await find(context, id)
  if (pid !== undefined) {
    const opened = await open(`/proc/${pid}`)
    const { phase } = await lookAt(context, id)
    if ((phase === 'running' || phase === 'frozen') && (await find(context, id)) === pid) return opened
    await discard(opened)
  }
  throw fail('busy', { what: `machine ${id} is not running`, next: 'try again when it is' })
}
