/**
 * Keeps the kernel ready to move processes between control groups. The first move after a while waits until every processor has passed a quiet
 * state (`rcu_sync_enter` below `cgroup_threadgroup_rwsem`: 6–16 ms of nothing, unless groups are mounted with `favordynmods`);
 * those that follow within some 8 ms do not. A runtime that starts a container moves its first process half-way, so the wait is begun with
 * the start, beside it: by a move that changes nothing, of this process to the group that it is in.
 */
import { closeSync, openSync, readFileSync, write } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock } from '../../../../shared/clock.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Hierarchy } from './hierarchy.ts'

export interface QuickMoves {
  /**
   * Resolves or rejects as the task does. Moves are quick from some milliseconds after it has begun until it has settled, while it is the only
   * one: several that start at once move often enough, and a move holds up every fork of the box.
   */
  during<T>(task: () => Promise<T>): Promise<T>
}

/** Less than the kernel stays ready for, ms. */
const everyMs = 5

/** Path of this process's group below the mount of `controller`, from the text of `/proc/self/cgroup`; undefined where it is in none. */
const ownGroup = (text: string, controller: string | undefined): string | undefined => {
  for (const line of text.split('\n')) {
    const [, names = '', ...path] = line.split(':')
    if (controller === undefined ? line.startsWith('0::') : names.split(',').includes(controller)) return path.join(':')
  }
  return undefined
}

/** The list of processes of this process's own group: `pids` has every version-1 box that runs containers. */
export const ownList = (
  { version, mountOf }: Pick<Hierarchy, 'version' | 'mountOf'>,
  groups = readFileSync('/proc/self/cgroup', 'utf8'),
): string | undefined => {
  const mount = mountOf('pids')
  const group = ownGroup(groups, version === 1 ? 'pids' : undefined)
  return mount === undefined || group === undefined ? undefined : join(mount, group, 'cgroup.procs')
}

const writeTo = promisify(write)

/** `list` is that of this process's own group, if it is known. One that cannot be written to is logged once, and moves are as slow as ever then. */
export const createQuickMoves = (
  list: string | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): QuickMoves => {
  let users = 0
  let underWay = false
  /** Undefined where moves are left as they are. */
  let known = list

  /** While anybody is to have quick moves. */
  const keep = async (path: string): Promise<void> => {
    underWay = true
    let file: number | undefined
    try {
      file = openSync(path, 'w')
      for (; users > 0; await clock.sleep(everyMs)) if (users === 1) await writeTo(file, '0')
    } catch (error) {
      known = undefined
      log.info('cgroup.slow_moves', { error })
    } finally {
      underWay = false
      if (file !== undefined) closeSync(file)
    }
  }

  return {
    async during(task) {
      users++
      if (known !== undefined && !underWay) void keep(known)
      try {
        return await task()
      } finally {
        users--
      }
    },
  }
}
