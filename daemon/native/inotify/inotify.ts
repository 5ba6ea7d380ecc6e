/** The kernel's inotify: one instance, many watched directories. */
import { textOf } from '../../../shared/utf8.ts'
import { check, lazy, loadAddon } from '../load.ts'

/** Bits of an event's mask (linux/inotify.h). */
export const IN = {
  MODIFY: 0x2,
  ATTRIB: 0x4,
  MOVED_FROM: 0x40,
  MOVED_TO: 0x80,
  CREATE: 0x100,
  DELETE: 0x200,
  DELETE_SELF: 0x400,
  MOVE_SELF: 0x800,
  Q_OVERFLOW: 0x4000,
  IGNORED: 0x8000,
  ONLYDIR: 0x1000000,
  DONT_FOLLOW: 0x2000000,
  ISDIR: 0x40000000,
} as const

export interface InotifyEvent {
  /** Watch descriptor; -1 for an overflow of the queue. */
  readonly wd: number
  readonly mask: number
  /** Equal for both halves of a rename, else 0. */
  readonly cookie: number
  /** Entry of the watched directory, '' when the event is about the directory itself. */
  readonly name: string
}

/** The user who must be allowed to read the directory; undefined: the daemon. */
export type WatchUser = { readonly uid: number; readonly gid: number } | undefined

export interface Inotify {
  /** Watches a directory and returns its watch descriptor, the same one for the same directory. Throws system errors. */
  add(path: string, mask: number, user: WatchUser): number
  /** Ends a watch; does nothing when the kernel has ended it already. */
  remove(wd: number): void
  close(): void
}

interface InotifyAddon {
  open_instance(callback: (batch: Buffer) => void): object | number
  add(instance: object, path: string, mask: number, uid: number, gid: number): number
  remove_watch(instance: object, wd: number): number
  close_instance(instance: object): void
}

const addon = lazy(() => loadAddon<InotifyAddon>('inotify'))
const headerBytes = 16

/** `struct inotify_event` records; the name is padded with NULs. */
const parseEvents = (batch: Buffer): InotifyEvent[] => {
  const events: InotifyEvent[] = []
  for (let at = 0; at + headerBytes <= batch.length; ) {
    const length = batch.readUInt32LE(at + 12)
    const field = batch.subarray(at + headerBytes, at + headerBytes + length)
    const end = field.indexOf(0)
    events.push({
      wd: batch.readInt32LE(at),
      mask: batch.readUInt32LE(at + 4),
      cookie: batch.readUInt32LE(at + 8),
      name: textOf(field.subarray(0, end < 0 ? field.length : end)),
    })
    at += headerBytes + length
  }
  return events
}

/**
 * Opens an instance. `onEvents` gets the events in order; `onDrained` runs when the queue is empty. Throws `EMFILE`
 * when the user has no instance left (fs.inotify.max_user_instances). Does not keep the process alive.
 */
export const openInotify = (onEvents: (events: InotifyEvent[]) => void, onDrained: () => void): Inotify => {
  const native = addon()
  const instance = native.open_instance(batch => (batch.length === 0 ? onDrained() : onEvents(parseEvents(batch))))
  if (typeof instance === 'number') {
    check('inotify_init', instance, 'fs.inotify.max_user_instances may be too low')
    throw new Error('inotify: no instance')
  }
  let open = true
  return {
    add: (path, mask, user) =>
      check('inotify_add_watch', native.add(instance, path, mask, user?.uid ?? -1, user?.gid ?? -1), path),
    remove: wd => void native.remove_watch(instance, wd),
    close() {
      if (open) native.close_instance(instance)
      open = false
    },
  }
}
