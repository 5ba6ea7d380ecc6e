/**
 * A watched directory, or a whole tree of them. inotify watches single directories, so a directory that appears may
 * have been filled before its watch was set: it is read after that, and what is already there is told as created. What
 * then is seen twice (in the directory and in the queue) is told once.
 */
import { posix } from 'node:path'
import { errno, messageOf } from '../../shared/errors.ts'
import { semaphore } from '../../shared/sync.ts'
import type { FilePort } from '../filesystem/port.ts'
import { IN, type InotifyEvent, type WatchUser } from '../native/inotify.ts'
import { changeLine, opOf } from './changes.ts'
import type { Hub, Listener } from './hub.ts'

export interface TreeOptions {
  /** Absolute and clean. */
  readonly root: string
  readonly recursive: boolean
  /** Entries whose full path contains one of these are not told, and not entered. */
  readonly ignore: readonly string[]
}

export interface TreeDeps {
  readonly hub: Hub
  readonly files: Pick<FilePort, 'readdir'>
  readonly user: WatchUser
  /** Gets every line. */
  readonly tell: (line: string) => void
}

export interface Tree {
  /** Everything that exists is watched. */
  readonly ready: Promise<void>
  /** Events were lost: says so and tells everything that exists as created. */
  recover(reason: string): void
  close(): void
}

interface Directory {
  readonly wd: number
  path: string
  /** One set per scan under way: the names of events since it began. */
  readonly scans: Set<Set<string>>
  /** Names told by a scan whose own events may still be in the queue. */
  readonly echo: Set<string>
}

const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])
const scansAtOnce = 16

/** Begins to watch; throws the system error when the root cannot be watched. */
export const openTree = (options: TreeOptions, deps: TreeDeps): Tree => {
  const { root, recursive, ignore } = options
  const { hub, files, user, tell } = deps
  const limit = semaphore(scansAtOnce)
  const directories = new Map<number, Directory>()
  const byPath = new Map<string, Directory>()
  const echoing = new Set<Directory>()
  /** Directories that moved away and may yet turn up elsewhere in the tree: rename cookie → old path. */
  const moved = new Map<number, string>()
  let closed = false
  let recovering: { again: boolean } | undefined

  const ignored = (path: string) => ignore.some(part => path.includes(part))

  /** Watches a directory; `fresh` when it was not watched at this path before. */
  const enter = (path: string): { directory: Directory; fresh: boolean } => {
    const wd = hub.add(path, { follow: path === root, user }, listener)
    const known = directories.get(wd)
    if (known?.path === path) return { directory: known, fresh: false }
    if (known && byPath.get(known.path) === known) byPath.delete(known.path)
    const directory = known ?? { wd, path, scans: new Set(), echo: new Set() }
    directory.path = path
    directories.set(wd, directory)
    byPath.set(path, directory)
    return { directory, fresh: true }
  }
  const tryEnter = (path: string) => {
    try {
      return closed ? undefined : enter(path)
    } catch (error) {
      // One that vanished meanwhile is told by its parent's events.
      if (!gone.has(errno(error) ?? '')) tell(changeLine('', path, `not watched: ${messageOf(error)}`))
      return undefined
    }
  }
  const forget = (directory: Directory) => {
    directories.delete(directory.wd)
    echoing.delete(directory)
    if (byPath.get(directory.path) === directory) byPath.delete(directory.path)
  }

  const read = async (directory: Directory) => {
    try {
      return await files.readdir(directory.path)
    } catch (error) {
      if (!gone.has(errno(error) ?? '')) tell(changeLine('', directory.path, `not read: ${messageOf(error)}`))
      return []
    }
  }
  /** `report`: tell what is there as created. `deep`: also enter directories that are watched already. */
  const scan = async (directory: Directory, how: { report: boolean; deep: boolean }): Promise<void> => {
    const children: Directory[] = []
    const touched = new Set<string>()
    // From now on, not only while it is read: the watch is set and events come in.
    directory.scans.add(touched)
    await limit(async () => {
      const entries = closed ? [] : await read(directory)
      directory.scans.delete(touched)
      for (const { name, kind } of entries) {
        const path = posix.join(directory.path, name)
        if (closed || ignored(path)) continue
        if (how.report && !touched.has(name)) {
          tell(changeLine('CREATE', path))
          directory.echo.add(name)
          echoing.add(directory)
        }
        const entered = recursive && kind === 'directory' ? tryEnter(path) : undefined
        if (entered && (entered.fresh || how.deep)) children.push(entered.directory)
      }
    })
    await Promise.all(children.map(child => scan(child, how)))
  }

  const leaveBelow = (path: string) => {
    for (const [at, directory] of byPath) {
      if (at !== path && !at.startsWith(`${path}/`)) continue
      forget(directory)
      hub.release(directory.wd, listener)
    }
  }
  const follow = ({ mask, cookie }: InotifyEvent, path: string) => {
    if (mask & IN.MOVED_FROM) moved.set(cookie, path)
    if (!(mask & (IN.CREATE | IN.MOVED_TO))) return
    moved.delete(cookie)
    const entered = tryEnter(path)
    if (entered?.fresh) void scan(entered.directory, { report: true, deep: false })
  }

  const listener: Listener = {
    event(event) {
      const { wd, mask, name } = event
      const directory = directories.get(wd)
      if (!directory) return
      if (mask & IN.IGNORED) return forget(directory)
      // What happens to a directory itself is told by the one it is in; only the root has none.
      if (name === '' && directory.path !== root) return
      const path = name === '' ? root : posix.join(directory.path, name)
      if (ignored(path)) return
      for (const touched of directory.scans) touched.add(name)
      if (mask & IN.CREATE && directory.echo.has(name)) return
      directory.echo.delete(name)
      const op = opOf(mask)
      if (op !== '') tell(changeLine(op, path))
      if (recursive && name !== '' && mask & IN.ISDIR) follow(event, path)
    },
    drained() {
      for (const directory of echoing) directory.echo.clear()
      echoing.clear()
      for (const path of moved.values()) leaveBelow(path)
      moved.clear()
    },
    overflowed: () => recover('the kernel dropped events'),
  }

  const recover = (reason: string) => {
    if (closed) return
    tell(changeLine('', root, `${reason}; everything that exists follows as CREATE`))
    if (recovering) {
      recovering.again = true
      return
    }
    const run = async () => {
      do {
        recovering = { again: false }
        const entered = tryEnter(root)
        if (entered) await scan(entered.directory, { report: true, deep: true })
      } while (recovering.again && !closed)
      recovering = undefined
    }
    void run()
  }

  const { directory } = enter(root)
  return {
    ready: recursive ? scan(directory, { report: false, deep: false }) : Promise.resolve(),
    recover,
    close() {
      closed = true
      for (const wd of directories.keys()) hub.release(wd, listener)
      directories.clear()
      byPath.clear()
    },
  }
}
