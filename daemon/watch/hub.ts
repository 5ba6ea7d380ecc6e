/**
 * One inotify instance for all watches of the daemon: the kernel grants a user few instances (128 by default, over all
 * sandboxes of a host) but many watched directories.
 */
import { IN, openInotify, type Inotify, type InotifyEvent, type WatchUser } from '../native/inotify/inotify.ts'

/** A user of the hub. */
export interface Listener {
  event(event: InotifyEvent): void
  /** The kernel's queue is empty. */
  drained(): void
  /** The kernel dropped events. */
  overflowed(): void
}

export interface Hub {
  /** Watches a directory and returns its watch descriptor, which is the same for the same directory. Throws system errors. */
  add(path: string, options: { follow: boolean; user: WatchUser }, listener: Listener): number
  release(wd: number, listener: Listener): void
  close(): void
}

const mask =
  IN.CREATE |
  IN.MOVED_TO |
  IN.MODIFY |
  IN.DELETE |
  IN.DELETE_SELF |
  IN.MOVED_FROM |
  IN.MOVE_SELF |
  IN.ATTRIB |
  IN.ONLYDIR

/** Opens the instance with the first watch and closes it with the last. */
export const createHub = (): Hub => {
  const listeners = new Map<number, Set<Listener>>()
  let inotify: Inotify | undefined

  const allListeners = () => new Set([...listeners.values()].flatMap(set => [...set]))
  const onEvents = (events: InotifyEvent[]) => {
    for (const event of events) {
      if (event.mask & IN.Q_OVERFLOW) for (const listener of allListeners()) listener.overflowed()
      const set = listeners.get(event.wd)
      if (event.mask & IN.IGNORED) listeners.delete(event.wd)
      for (const listener of set ?? []) listener.event(event)
    }
  }
  const onDrained = () => {
    for (const listener of allListeners()) listener.drained()
  }
  const closeIfIdle = () => {
    if (listeners.size > 0) return
    inotify?.close()
    inotify = undefined
  }

  return {
    add(path, { follow, user }, listener) {
      inotify ??= openInotify(onEvents, onDrained)
      try {
        const wd = inotify.add(path, follow ? mask : mask | IN.DONT_FOLLOW, user)
        const set = listeners.get(wd) ?? new Set()
        listeners.set(wd, set.add(listener))
        return wd
      } finally {
        closeIfIdle()
      }
    },
    release(wd, listener) {
      const set = listeners.get(wd)
      if (!set?.delete(listener) || set.size > 0) return
      listeners.delete(wd)
      inotify?.remove(wd)
      closeIfIdle()
    },
    close() {
      listeners.clear()
      closeIfIdle()
    },
  }
}
