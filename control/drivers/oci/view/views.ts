/** What a machine sees of itself: its own limits in `/proc` and `/sys`, where the kernel would show those of the box. */
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import type { Clock } from '../../../../shared/clock.ts'
import { errno, fail, messageOf } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import { readControl, treeDir, type Hierarchy } from '../cgroup/hierarchy.ts'
import { groupOf } from '../context.ts'
import { innermostPid } from '../drives/first-process.ts'
import type { Names } from '../names.ts'
import { openKeeper } from './keeper.ts'
import { openPlace, shownIn } from './place.ts'
import { addon } from './programs.ts'

export interface Views {
  /** Shows the machine that runs what is its own; where that cannot be done it sees the box, which is logged. */
  show(id: string): Promise<void>
  /** Its limits have changed: what it reads from now on says so. */
  renew(id: string): Promise<void>
  /** The machine has ended. */
  drop(id: string): Promise<void>
  /** Does this for machines of versions that had none, and away with files of machines that are gone. */
  adopt(ids: readonly string[]): Promise<void>
  /** Leaves what machines see, which is then no longer new. */
  close(): Promise<void>
}

/** What is mounted where; see `keep-views.c`. */
const files = {
  '/proc/meminfo': 'meminfo',
  '/proc/stat': 'stat',
  '/proc/loadavg': 'loadavg',
  '/proc/cpuinfo': 'cpuinfo',
  '/proc/swaps': 'swaps',
  '/sys/devices/system/cpu/online': 'online',
  '/sys/devices/system/cpu/possible': 'online',
  '/sys/devices/system/cpu/present': 'online',
}
const pairs = Object.entries(files).flatMap(([path, name]) => [name, path])

interface Place {
  readonly hierarchy: Hierarchy
  readonly names: Names
}

/** The first process of a machine, by number; undefined when none runs. */
const firstProcess = async ({ hierarchy, names }: Place, id: string): Promise<string | undefined> => {
  const directory = treeDir(hierarchy, groupOf(names, id))
  const pids = (await readControl(join(directory, 'cgroup.procs')))?.split('\n') ?? []
  for (const pid of pids) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(error => {
      if (['ENOENT', 'ESRCH'].includes(errno(error) ?? '')) return ''
      throw error
    })
    if (innermostPid(status) === 1) return pid
  }
  return undefined
}

const mountIn = async (place: Place, id: string, directory: string): Promise<void> => {
  const failed = (reason: string) => fail('driver_failed', { driver: 'oci', step: 'view', reason })
  const pid = await firstProcess(place, id)
  if (pid === undefined) throw failed('it does not run')
  await using namespace = await open(`/proc/${pid}/ns/mnt`)
  // The number may have been another process's when it was opened.
  if ((await firstProcess(place, id)) !== pid) throw failed('its first process ended')
  const failure = await addon().show(namespace.fd, directory, pairs)
  if (failure) throw failed(`${failure[0]}: ${getSystemErrorMessage(-failure[1])}`)
}

/** The trees in the order of the program's arguments. */
const treesOf = ({ hierarchy }: Place): string[] =>
  ['memory', 'cpuacct', 'cpuset', 'cpu', 'pids'].map(controller => hierarchy.mountOf(controller) ?? '-')

export const openViews = async (place: Place, deps: { log: Log; clock: Clock }): Promise<Views> => {
  const { log } = deps
  const directory = await openPlace(place.names)
  const args = [directory, String(place.hierarchy.version), place.names.cgroup, ...treesOf(place)]
  const keeper = openKeeper(args, deps)
  const show = async (id: string): Promise<void> => {
    try {
      await keeper.ask(`add ${id}`)
      await mountIn(place, id, join(directory, id))
    } catch (error) {
      log.warn('view.missing', { machine: id, reason: messageOf(error), next: 'it sees the box in /proc/meminfo' })
    }
  }
  const drop = async (id: string): Promise<void> => {
    try {
      await keeper.ask(`drop ${id}`)
    } catch (error) {
      // The next start takes them away.
      log.warn('view.left', { machine: id, reason: messageOf(error) })
    }
  }
  const renew = async (id: string): Promise<void> => {
    try {
      await keeper.ask(`renew ${id}`)
    } catch (error) {
      // Whoever reads later is shown them all the same.
      log.warn('view.old', { machine: id, reason: messageOf(error) })
    }
  }
  return {
    show,
    renew,
    drop,
    async adopt(ids) {
      const shown = await shownIn(directory)
      for (const id of shown) if (!ids.includes(id)) await drop(id)
      for (const id of ids) if (!shown.includes(id) && (await firstProcess(place, id)) !== undefined) await show(id)
    },
    close: keeper.close,
  }
}
