/** The kernel's table of mounts, /proc/self/mountinfo as proc(5) describes it. */
import { posix } from 'node:path'

export interface MountEntry {
  /** `stx_mnt_id` of statx(2); the kernel reuses numbers of mounts that are gone. */
  readonly id: number
  /** `major:minor` of the file system. */
  readonly device: string
  /** The directory within the file system that is mounted. */
  readonly root: string
  readonly mountPoint: string
  readonly readOnly: boolean
}

/** Undoes the octal escapes (`\040`) of spaces, tabs, newlines and backslashes. */
const unescaped = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** Entries in the order they were mounted; lines of another form are skipped. */
export const parseMountinfo = (text: string): MountEntry[] =>
  text.split('\n').flatMap(line => {
    const [id, , device, root, mountPoint, options] = line.split(' ')
    if (!device || !root || !mountPoint || !options) return []
    return {
      id: Number(id),
      device,
      root: unescaped(root).replace(/\/\/deleted$/, ''),
      mountPoint: unescaped(mountPoint),
      readOnly: options.split(',').includes('ro'),
    }
  })

/** The rest of `path` below `base` with its leading slash, '' for `base` itself, undefined outside. */
export const below = (path: string, base: string): string | undefined => {
  if (path === base) return ''
  if (base === '/') return path
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined
}

/** The visible mount at each mount point: the last one hides those before it. */
export const visible = (entries: readonly MountEntry[]): MountEntry[] => [
  ...new Map(entries.map(entry => [entry.mountPoint, entry])).values(),
]

/**
 * The path under `directory` whose contents a mount shows, with its leading slash; undefined when it shows something
 * else. A bind mount does not say where it came from, so its file system and root are looked for among `entries`, the
 * mounts that make up `directory`; the mount itself may be in another mount namespace.
 */
export const sourceBelow = (
  entry: MountEntry,
  directory: string,
  entries: readonly MountEntry[],
): string | undefined => {
  const around = entries
    .filter(({ mountPoint }) => below(directory, mountPoint) !== undefined)
    .toSorted((a, b) => b.mountPoint.length - a.mountPoint.length)
    .slice(0, 1)
  const inside = entries.filter(({ mountPoint }) => below(mountPoint, directory))
  for (const candidate of [...inside, ...around]) {
    if (candidate.device !== entry.device) continue
    const rest = below(entry.root, candidate.root)
    const source = rest === undefined ? undefined : posix.join(candidate.mountPoint, rest)
    const found = source === undefined ? undefined : below(source, directory)
    if (found) return found
  }
  return undefined
}
