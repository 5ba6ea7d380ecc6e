import { posix } from 'node:path'
import { jsonText } from '../../shared/route.ts'
import type { Out } from '../../shared/schema.ts'
import { escaped } from '../../shared/utf8.ts'
import type { WatchEvent } from '../../shared/wire/watch.ts'
import { IN } from '../native/inotify/inotify.ts'

const bits = [
  ['CREATE', IN.CREATE | IN.MOVED_TO],
  ['REMOVE', IN.DELETE | IN.DELETE_SELF],
  ['WRITE', IN.MODIFY],
  ['RENAME', IN.MOVED_FROM | IN.MOVE_SELF],
  ['CHMOD', IN.ATTRIB],
] as const

/** The operations of an event's mask, in the order that clients know. */
export const opOf = (mask: number): string =>
  bits
    .filter(([, mine]) => mask & mine)
    .map(([name]) => name)
    .join('|')

const parentOf = (path: string): string => {
  const parent = posix.dirname(path)
  return parent === '/' ? '' : parent
}

/** The line of a change to the absolute `path`. */
export const changeLine = (op: string, path: string, error: string | null = null): string => {
  const [name, directory] = [posix.basename(path), parentOf(path)]
  const event: Out<typeof WatchEvent> = {
    op,
    name,
    ...(name.isWellFormed() ? {} : { escapedName: escaped(name) }),
    path: directory,
    ...(directory.isWellFormed() ? {} : { escapedPath: directory.split('/').map(escaped).join('/') }),
    error,
  }
  return `${jsonText(event)}\n`
}
