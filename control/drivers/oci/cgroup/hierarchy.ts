/**
 * Where control groups are on this box. Version 1 has one tree per controller, version 2 one for all, and a hybrid box
 * version-1 trees with an empty version-2 tree beside them; the runtime uses what `/sys/fs/cgroup` is, and so do we.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { command } from '../../../../shared/installation.ts'

export interface Hierarchy {
  readonly version: 1 | 2
  /** Mount point that serves a controller, or undefined when the kernel does not offer it. */
  mountOf(controller: string): string | undefined
  /** Mount points of every tree there is. */
  readonly mounts: readonly string[]
  /** Mount point of a version-2 tree beside those of version 1 in `/sys/fs/cgroup`, if there is one. */
  readonly beside: string | undefined
  /** The kernel counts swap for groups, so that it can be limited. */
  readonly limitsSwap: boolean
  /** Version 1: what sockets hold can be limited. Not every kernel has it. */
  readonly limitsSockets: boolean
  /**
   * That this process may use. Asked once: libuv reads `/proc/self/cgroup` for the answer, which waits for whoever moves a process from one
   * group to another at that moment.
   */
  readonly processors: number
}

/** A control file, and what is to be written to it. */
export type Setting = readonly [file: string, value: string]

interface Mount {
  readonly point: string
  readonly type: string
  readonly options: readonly string[]
}

/** The control group mounts in the text of `/proc/self/mountinfo`. */
export const cgroupMounts = (mountinfo: string): Mount[] =>
  mountinfo.split('\n').flatMap(line => {
    const [left = '', right = ''] = line.split(' - ')
    const [type = '', , options = ''] = right.split(' ')
    const point = left.split(' ')[4]
    return point && (type === 'cgroup' || type === 'cgroup2') ? [{ point, type, options: options.split(',') }] : []
  })

/** Where runtimes look for trees; others may be mounted elsewhere. */
export const isBelowGroups = (point: string): boolean => point.startsWith('/sys/fs/cgroup/')

/** Reads what is mounted; throws `driver_failed` when there are no control groups. */
export const openHierarchy = async (): Promise<Hierarchy> => {
  const processors = availableParallelism()
  const all = cgroupMounts(await readFile('/proc/self/mountinfo', 'utf8'))
  const unified = all.find(({ type, point }) => type === 'cgroup2' && point === '/sys/fs/cgroup')
  if (unified) {
    const { point } = unified
    return {
      version: 2,
      mountOf: () => point,
      mounts: [point],
      beside: undefined,
      limitsSwap: await hasSwapFile(),
      limitsSockets: false,
      processors,
    }
  }
  if (all.length === 0)
    throw fail('driver_failed', {
      driver: 'oci',
      step: 'cgroups',
      reason: `no control groups are mounted; mount cgroup2 at /sys/fs/cgroup and run ${command('doctor')}`,
    })
  const mountOf = (controller: string) =>
    all.find(({ type, options }) => type === 'cgroup' && options.includes(controller))?.point
  const memory = mountOf('memory') ?? '/sys/fs/cgroup/memory'
  const has = async (name: string) => (await readControl(join(memory, name))) !== undefined
  const limitsSwap = await has('memory.memsw.limit_in_bytes')
  const limitsSockets = await has('memory.kmem.tcp.limit_in_bytes')
  const beside = all.find(({ type, point }) => type === 'cgroup2' && isBelowGroups(point))?.point
  return { version: 1, mountOf, mounts: all.map(({ point }) => point), beside, limitsSwap, limitsSockets, processors }
}

/** Version 2 groups count swap whenever the kernel has any. */
const hasSwapFile = async (): Promise<boolean> => (await readControl('/proc/swaps')) !== undefined

/** Directory of the group `path` in one tree: the runtime puts a machine's processes into all of them. */
export const treeDir = (hierarchy: Hierarchy, path: string): string =>
  join(hierarchy.mountOf('freezer') ?? '/sys/fs/cgroup', path)

/** Directories of the group `path` in every tree where it exists. */
export const groupDirs = async (hierarchy: Hierarchy, path: string): Promise<string[]> => {
  const found: string[] = []
  for (const mount of hierarchy.mounts) {
    const directory = join(mount, path)
    if ((await children(directory)) !== undefined) found.push(directory)
  }
  return found
}

/** Names of the groups directly below a directory; undefined when it does not exist. */
export const children = async (directory: string): Promise<string[] | undefined> => {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENODEV') return undefined
    throw error
  }
}

/**
 * A control file's content without the last newline, or undefined when the group or file is gone. These are no files of a disk:
 * the kernel answers in some 20 µs, and a promise of a file takes the server ten times as long, in a line behind real ones.
 */
export const readControl = async (file: string): Promise<string | undefined> => {
  try {
    return readFileSync(file, 'utf8').trimEnd()
  } catch (error) {
    // ENODEV: the group was removed while the file was open.
    if (errno(error) === 'ENOENT' || errno(error) === 'ENODEV') return undefined
    throw error
  }
}

/** The same for one that the kernel has to add up first, over all groups below: nobody else waits for it. */
export const readSums = async (file: string): Promise<string | undefined> => {
  try {
    return (await readFile(file, 'utf8')).trimEnd()
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENODEV') return undefined
    throw error
  }
}
