/**
 * A watched directory, or a whole tree of them. inotify watches single directories, so a directory that appears may
 * have been filled before its watch was set: it is read after that, and what is already there is told as created. What
 * then is seen twice (in the directory and in the queue) is told once.
 */
import { posix } from 'node:path'
import type { FilePort } from '../filesystem/port.ts'
import { IN, type InotifyEvent, type WatchUser } from '../native/inotify/inotify.ts'
import { changeLine, opOf } from './changes.ts'
import type { Hub, Listener } from './hub.ts'
import { createRewatch } from './rewatch.ts'
import { createRegistry, type Directory, type Registry } from './registry.ts'
import { createScanner, type Scanner } from './scan.ts'

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

/** What begins or ends an entry. */
const comings = IN.CREATE | IN.MOVED_TO | IN.DELETE | IN.MOVED_FROM

/** Follows directories that come and go. */
const createFollower = (registry: Registry, scanner: Scanner) => {
  /** Those that moved away and may yet turn up elsewhere in the tree: rename cookie → old path. */
  const moved = new Map<number, string>()
  return {
    follow({ mask, cookie }: InotifyEvent, path: string) {
      if (mask & IN.MOVED_FROM) moved.set(cookie, path)
      if (!(mask & (IN.CREATE | IN.MOVED_TO))) return
      moved.delete(cookie)
      const entered = scanner.enter(path)
      if (entered?.fresh) void scanner.scan(entered.directory, { report: true, deep: false })
    },
    settled() {
      for (const path of moved.values()) registry.leaveBelow(path)
      moved.clear()
    },
  }
}

/** One recovery at a time; what is lost meanwhile makes another one follow. */
const createRecovery = (root: string, scanner: Scanner, closed: () => boolean) => {
  let running: { again: boolean } | undefined
  return async (): Promise<void> => {
    if (running) {
      running.again = true
      return
    }
    do {
      running = { again: false }
      const entered = scanner.enter(root)
      if (entered) await scanner.scan(entered.directory, { report: true, deep: true })
    } while (running.again && !closed())
    running = undefined
  }
}

/** Begins to watch; throws the system error when the root cannot be watched. */
export const openTree = (options: TreeOptions, deps: TreeDeps): Tree => {
  const { root, recursive, ignore } = options
  const { hub, files, user, tell } = deps
  let over = false
  const closed = () => over
  const ignored = (path: string) => ignore.some(part => path.includes(part))

  const told = (directory: Directory, { mask, name }: InotifyEvent, path: string): boolean => {
    // Its first event is no creation: it was there before the watch, and the scan has not come to it yet.
    const before = !(mask & comings) && [...directory.scans].some(touched => !touched.has(name))
    for (const touched of directory.scans) touched.add(name)
    if (before && name !== '') tell(changeLine('CREATE', path))
    if (mask & IN.CREATE && directory.echo.has(name)) return false
    directory.echo.delete(name)
    const op = opOf(mask)
    if (op !== '') tell(changeLine(op, path))
    return true
  }
  const listener: Listener = {
    event(event) {
      const { wd, mask, name } = event
      const directory = registry.get(wd)
      if (!directory) return
      if (mask & IN.IGNORED) {
        registry.forget(directory)
        if (directory.path === root && !over) rewatch.begin()
        return
      }
      // What happens to a directory itself is told by the one it is in; only the root has none.
      if (name === '' && directory.path !== root) return
      const path = name === '' ? root : posix.join(directory.path, name)
      if (ignored(path) || !told(directory, event, path)) return
      if (recursive && name !== '' && mask & IN.ISDIR) follow(event, path)
      // What has moved away goes by another name, and is not what the client asked for.
      if (name === '' && mask & IN.MOVE_SELF) {
        registry.leaveBelow(root)
        rewatch.begin()
      }
    },
    drained() {
      scanner.settled()
      settled()
    },
    overflowed: () => recover('the kernel dropped events'),
  }
  const registry = createRegistry({ root, hub, user }, listener)
  const scanner = createScanner({ registry, files, recursive, ignored, tell, closed })
  const { follow, settled } = createFollower(registry, scanner)
  const enter = (): boolean => {
    const entered = scanner.enter(root)
    if (!entered) return false
    tell(changeLine('CREATE', root))
    void scanner.scan(entered.directory, { report: true, deep: false })
    return true
  }
  const rewatch = createRewatch(root, { hub, user, enter })
  const again = createRecovery(root, scanner, closed)
  const recover = (reason: string) => {
    if (over) return
    tell(changeLine('', root, `${reason}; everything that exists follows as CREATE`))
    void again()
  }

  const { directory } = registry.enter(root)
  return {
    ready: recursive ? scanner.scan(directory, { report: false, deep: false }) : Promise.resolve(),
    recover,
    close() {
      over = true
      rewatch.close()
      registry.close()
    },
  }
}
