import type { WatchUser } from '../native/inotify/inotify.ts'
import type { Hub, Listener } from './hub.ts'

/** A watched directory of one tree. */
export interface Directory {
  readonly wd: number
  /** Where it is now; a rename changes it. */
  path: string
  /** For each reporting scan under way: the names of the events since it began. */
  readonly scans: Set<Set<string>>
  /** Names that a scan has reported and whose events may still be in the queue. */
  readonly echo: Set<string>
}

/** The watched directories of one tree, by watch descriptor and by path. */
export interface Registry {
  get(wd: number): Directory | undefined
  /** Watches a directory; `fresh` when it was not watched at this path before. Throws system errors. */
  enter(path: string): { directory: Directory; fresh: boolean }
  /** A directory has another path now, and so has everything below it. */
  move(from: string, to: string): void
  /** Its watch has ended by itself. */
  forget(directory: Directory): void
  /** Ends the watches of a path and of all below it. */
  leaveBelow(path: string): void
  close(): void
}

export const createRegistry = (options: { root: string; hub: Hub; user: WatchUser }, listener: Listener): Registry => {
  const { root, hub, user } = options
  const byWd = new Map<number, Directory>()
  const byPath = new Map<string, Directory>()

  const forget = (directory: Directory) => {
    byWd.delete(directory.wd)
    if (byPath.get(directory.path) === directory) byPath.delete(directory.path)
  }
  return {
    get: wd => byWd.get(wd),
    enter(path) {
      // Only the root may be a link, since the client named it; links in the tree are not followed.
      const wd = hub.add(path, { follow: path === root, user }, listener)
      const known = byWd.get(wd)
      if (known?.path === path) return { directory: known, fresh: false }
      if (known && byPath.get(known.path) === known) byPath.delete(known.path)
      const directory = known ?? { wd, path, scans: new Set(), echo: new Set() }
      directory.path = path
      byWd.set(wd, directory)
      byPath.set(path, directory)
      return { directory, fresh: true }
    },
    move(from, to) {
      const moved = [...byPath].filter(([at]) => at === from || at.startsWith(`${from}/`))
      for (const [at] of moved) byPath.delete(at)
      for (const [at, directory] of moved) {
        directory.path = to + at.slice(from.length)
        byPath.set(directory.path, directory)
      }
    },
    forget,
    leaveBelow(path) {
      for (const [at, directory] of byPath) {
        if (at !== path && !at.startsWith(`${path}/`)) continue
        forget(directory)
        hub.release(directory.wd, listener)
      }
    },
    close() {
      for (const wd of byWd.keys()) hub.release(wd, listener)
      byWd.clear()
      byPath.clear()
    },
  }
}
