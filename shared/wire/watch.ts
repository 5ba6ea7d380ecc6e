import { route } from '../route.ts'
import { s } from '../schema.ts'

/**
 * One line of a watch. `op` joins several of CREATE, REMOVE, WRITE, RENAME, CHMOD with `|`; it is '' on a line that only
 * reports an error.
 */
export const WatchEvent = s.object({
  op: s.string(),
  /** Base name. */
  name: s.string(),
  /** The name as it is written in an address; only for names that are not UTF-8. */
  escapedName: s.optional(s.string()),
  /** Absolute directory the entry is in; '' for entries of `/`. */
  path: s.string(),
  /** The same for the directory. */
  escapedPath: s.optional(s.string()),
  error: s.nullable(s.string()),
})

export const watchFilesystem = route('GET /watch/filesystem/*path', {
  id: 'filesystem.watch',
  family: 'filesystem',
  summary: 'Stream changes of a directory, of the whole tree below it when the path ends in /**',
  params: s.object({ path: s.string() }),
  query: s.object({ ignore: s.optional(s.string()) }),
  events: WatchEvent,
  produces: ['text/plain'],
  errors: ['invalid_argument', 'unprocessable', 'operation_failed'],
})
