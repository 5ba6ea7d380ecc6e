/**
 * A watched directory, or a whole tree of them. inotify watches single directories, so a directory that appears may
 * have been filled before its watch was set: it is read after that, and what is already there is reported as created.
 * An entry that is then seen twice, in the directory and in the queue of events, is reported once.
 */
import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import type { FilePort } from '../filesystem/port.ts'
import { draftKind } from '../filesystem/whole/draft-name.ts'
import { IN, type InotifyEvent, type WatchUser } from '../native/inotify/inotify.ts'
import { changeLine, opOf } from './changes.ts'
import type { Hub, Listener } from './hub.ts'
import { createRewatch, type Rewatch } from './rewatch.ts'
import { createRegistry, type Directory, type Registry } from './registry.ts'
import { createScanner, type Scanner } from './scan.ts'

interface TreeOptions {
  /** Absolute and clean. */
  readonly root: string
  readonly recursive: boolean
  /** Entries whose full path contains one of these are not reported, and not entered. */
  readonly ignore: readonly string[]
}

interface TreeDeps {
  readonly hub: Hub
  readonly files: Pick<FilePort, 'readdir'>
  readonly user: WatchUser
  /** Gets every line. */
  readonly tell: (line: string) => void
}

export interface Tree {
  /** Everything that exists is watched. */
  readonly ready: Promise<void>
  /** Events were lost: says so and reports everything that exists as created. */
  recover(reason: string): void
  close(): void
}

/** State of an open tree. */
interface TreeContext extends TreeOptions, TreeDeps {
  readonly registry: Registry
  readonly scanner: Scanner
  readonly rewatch: Rewatch
  /** Directories that moved away and may yet turn up elsewhere in the tree: rename cookie → old path. */
  readonly moved: Map<number, string>
  /** The draft of a whole-file write that was renamed last: its rename cookie, and what the write makes. */
  draft: { readonly cookie: number; readonly kind: 'new' | 'next' } | undefined
  closed: boolean
  /** The recovery under way; `again` when more was lost meanwhile. */
  recovering: { again: boolean } | undefined
}

const isIgnored = ({ ignore }: TreeOptions, path: string): boolean => ignore.some(part => path.includes(part))

/** Events with which an entry comes or goes. */
const appearOrVanish = IN.CREATE | IN.MOVED_TO | IN.DELETE | IN.MOVED_FROM

/** Reports an event; false for one that a scan has reported already. */
const report = ({ tell }: TreeContext, directory: Directory, { mask, name }: InotifyEvent, path: string): boolean => {
  // Its first event is no creation: it was there before the watch was set, and the scan has not come to it yet.
  const unreported = !(mask & appearOrVanish) && [...directory.scans].some(touched => !touched.has(name))
  for (const touched of directory.scans) touched.add(name)
  if (unreported && name !== '') tell(changeLine('CREATE', path))
  if (mask & IN.CREATE && directory.echo.has(name)) return false
  directory.echo.delete(name)
  const op = opOf(mask)
  if (op !== '') tell(changeLine(op, path))
  return true
}

/** Drafts are the daemon's own matter; of one that is renamed the other half of the rename is remembered. */
const isOfDraft = (context: TreeContext, { mask, name, cookie }: InotifyEvent): boolean => {
  const kind = draftKind(name)
  if (kind && mask & IN.MOVED_FROM) context.draft = { cookie, kind }
  return kind !== undefined
}

/** A write that takes its name by a rename is a write to whoever watches: of a new file, or of the one that is there. */
const asWritten = ({ draft }: TreeContext, event: InotifyEvent): InotifyEvent[] => {
  if (!draft || !(event.mask & IN.MOVED_TO) || event.cookie !== draft.cookie) return [event]
  const written = { ...event, mask: IN.MODIFY }
  return draft.kind === 'next' ? [written] : [{ ...event, mask: IN.CREATE }, written]
}

/** What happens to a file without a name (O_TMPFILE) is reported by the kernel under its inode's number. */
const isUnnamed = ({ name, mask }: InotifyEvent, path: string): boolean =>
  /^#\d+$/.test(name) && !(mask & appearOrVanish) && !existsSync(path)

/** Follows a directory that comes, goes or is renamed. */
const follow = (context: TreeContext, { mask, cookie }: InotifyEvent, path: string): void => {
  const { scanner, moved, registry } = context
  if (mask & IN.MOVED_FROM) moved.set(cookie, path)
  if (!(mask & (IN.CREATE | IN.MOVED_TO))) return
  const from = moved.get(cookie)
  moved.delete(cookie)
  // At once, since events of the directories below may follow in the queue.
  if (from !== undefined) registry.move(from, path)
  const entered = scanner.enter(path)
  if (entered && (entered.fresh || from !== undefined))
    void scanner.scan(entered.directory, { report: true, deep: from !== undefined })
}

const onEvent = (context: TreeContext, event: InotifyEvent): void => {
  const { root, recursive, registry, rewatch } = context
  const { wd, mask, name } = event
  const directory = registry.get(wd)
  if (!directory) return
  if (mask & IN.IGNORED) {
    registry.forget(directory)
    if (directory.path === root && !context.closed) rewatch.begin()
    return
  }
  // What happens to a directory itself is reported by the one that holds it; only the root has none.
  if (name === '' && directory.path !== root) return
  if (isOfDraft(context, event)) return
  const path = name === '' ? root : posix.join(directory.path, name)
  if (isIgnored(context, path) || isUnnamed(event, path)) return
  for (const seen of asWritten(context, event)) if (!report(context, directory, seen, path)) return
  if (recursive && name !== '' && mask & IN.ISDIR) follow(context, event, path)
  // A root that moved away has another name now, and is not what the client asked for.
  if (name === '' && mask & IN.MOVE_SELF) {
    registry.leaveBelow(root)
    rewatch.begin()
  }
}

/** The queue of events is empty: a directory that has not turned up again is gone. */
const onDrained = ({ scanner, registry, moved }: TreeContext): void => {
  scanner.settled()
  for (const path of moved.values()) registry.leaveBelow(path)
  moved.clear()
}

/** Reports everything anew. One recovery at a time; what is lost meanwhile makes another one follow. */
const rescan = async (context: TreeContext): Promise<void> => {
  if (context.recovering) {
    context.recovering.again = true
    return
  }
  let current
  do {
    current = context.recovering = { again: false }
    const entered = context.scanner.enter(context.root)
    if (entered) await context.scanner.scan(entered.directory, { report: true, deep: true })
  } while (current.again && !context.closed)
  context.recovering = undefined
}

const recover = (context: TreeContext, reason: string): void => {
  if (context.closed) return
  context.tell(changeLine('', context.root, `${reason}; everything that exists follows as CREATE`))
  void rescan(context)
}

/** Takes up a root that is there again; false when it is not. */
const enterRoot = ({ root, scanner, tell }: TreeContext): boolean => {
  const entered = scanner.enter(root)
  if (!entered) return false
  tell(changeLine('CREATE', root))
  void scanner.scan(entered.directory, { report: true, deep: false })
  return true
}

/** Begins to watch; throws the system error when the root cannot be watched. */
export const openTree = (options: TreeOptions, deps: TreeDeps): Tree => {
  const { root, recursive } = options
  const listener: Listener = {
    event: event => onEvent(context, event),
    drained: () => onDrained(context),
    overflowed: () => recover(context, 'the kernel dropped events'),
  }
  const registry = createRegistry({ root, ...deps }, listener)
  const scanner = createScanner({
    registry,
    ...deps,
    recursive,
    ignored: path => isIgnored(options, path),
    closed: () => context.closed,
  })
  const rewatch = createRewatch(root, { ...deps, enter: () => enterRoot(context) })
  const context: TreeContext = {
    ...options,
    ...deps,
    registry,
    scanner,
    rewatch,
    moved: new Map(),
    draft: undefined,
    closed: false,
    recovering: undefined,
  }
  const { directory } = registry.enter(root)
  return {
    ready: recursive ? scanner.scan(directory, { report: false, deep: false }) : Promise.resolve(),
    recover: reason => recover(context, reason),
    close() {
      context.closed = true
      rewatch.close()
      registry.close()
    },
  }
}
