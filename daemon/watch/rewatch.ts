/** Waits until a directory that was deleted or moved away is there again, by watching its parents. */
import { posix } from 'node:path'
import { IN, type InotifyEvent, type WatchUser } from '../native/inotify/inotify.ts'
import type { Hub, Listener } from './hub.ts'

export interface Rewatch {
  /** Begins to wait; does nothing while it waits already. */
  begin(): void
  close(): void
}

const arrived = IN.CREATE | IN.MOVED_TO
const left = IN.DELETE_SELF | IN.MOVE_SELF | IN.IGNORED

/** `enter` tries to watch the directory again and says whether it could. */
export const createRewatch = (root: string, deps: { hub: Hub; user: WatchUser; enter: () => boolean }): Rewatch => {
  const { hub, user, enter } = deps
  /** The parent that is watched, and the name in it that leads to the root. */
  let at: { wd: number; directory: string; name: string } | undefined

  const stop = () => {
    const was = at
    at = undefined
    if (was) hub.release(was.wd, listener)
  }
  const nameBelow = (directory: string): string =>
    root.slice(directory === '/' ? 1 : directory.length + 1).split('/')[0] as string
  /** Watches another parent instead; false when it is not there. */
  const watch = (directory: string): boolean => {
    let wd: number
    try {
      wd = hub.add(directory, { follow: true, user }, listener)
    } catch {
      // Not there, or not readable: its own parent reports when that changes.
      return false
    }
    if (wd !== at?.wd) stop()
    at = { wd, directory, name: nameBelow(directory) }
    return true
  }
  /** Watches the nearest parent that exists, then goes down again, since more may have been made meanwhile. */
  const look = () => {
    let directory = posix.dirname(root)
    while (!watch(directory) && directory !== '/') directory = posix.dirname(directory)
    while (at && !enter()) {
      const next = posix.join(at.directory, at.name)
      if (next === root || !watch(next)) return
    }
    stop()
  }
  const listener: Listener = {
    event({ wd, mask, name }: InotifyEvent) {
      if (wd !== at?.wd) return
      if (name === '' ? mask & left : mask & arrived && name === at.name) look()
    },
    drained() {},
    overflowed() {
      if (at) look()
    },
  }
  return {
    begin() {
      if (!at) look()
    },
    close: stop,
  }
}
