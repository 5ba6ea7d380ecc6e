/** Finds lines that contain a text, in all regular files below a directory, several files at a time. */
import { bytesOf } from '../../../shared/utf8.ts'
import { hitBytes } from '../../native/search/search.ts'
import { escapesOf } from '../describe.ts'
import type { FilePort } from '../port.ts'
import { glob } from './glob.ts'
import { needleOf } from './needle.ts'
import { walk } from './walk.ts'

interface ContentQuery {
  readonly query: string
  readonly caseSensitive: boolean
  readonly filePattern: string | undefined
  readonly exclude: ReadonlySet<string>
  /** Ends the search after so many matches; may be infinite. */
  readonly limit: number
}

interface ContentMatch {
  /** Relative to the start. */
  readonly path: string
  readonly escapedName?: string
  readonly escapedPath?: string
  /** From 1. */
  readonly line: number
  /** From 1, in bytes. */
  readonly column: number
  /** The whole line, at most 64 KiB of it, up to the end of a character. */
  readonly text: string
}

/** Threads of libuv's pool that search; the others are for whoever asks meanwhile. */
const searchers = 2
/** Files of one step: so many are still searched after whoever asked has gone. */
const filesAtOnce = 256
const maxLimit = 2 ** 31

const filesBelow = async (
  port: FilePort,
  start: string,
  query: ContentQuery,
  signal: AbortSignal,
): Promise<string[]> => {
  const paths: string[] = []
  const wanted = query.filePattern ? glob(query.filePattern) : () => true
  const visit = (path: string, entry: { name: string; kind: string }) => {
    if (entry.kind === 'file' && wanted(entry.name)) paths.push(path)
    return true
  }
  await walk(port, start, { exclude: query.exclude, skipHidden: false, onError: () => {}, visit }, signal)
  return paths
}

const matchesIn = (hits: Buffer, paths: readonly string[]): ContentMatch[] => {
  const matches: ContentMatch[] = []
  for (let at = 0; at < hits.length; ) {
    const [line, column] = [hits.readDoubleLE(at), hits.readDoubleLE(at + 8)]
    const path = paths[hits.readUInt32LE(at + 16)] as string
    const end = at + hitBytes + hits.readUInt32LE(at + 20)
    matches.push({ path, ...escapesOf(path), line, column, text: hits.toString('utf8', at + hitBytes, end) })
    at = end
  }
  return matches
}

/** In no particular order across files. Files and directories that cannot be read are passed over. */
export const searchContent = async (
  port: FilePort,
  start: string,
  query: ContentQuery,
  signal: AbortSignal,
): Promise<ContentMatch[]> => {
  const paths = await filesBelow(port, start, query, signal)
  const needle = needleOf(query.query, query.caseSensitive)
  const matches: ContentMatch[] = []
  let next = 0
  const searcher = async (): Promise<void> => {
    while (next < paths.length && matches.length < query.limit) {
      signal.throwIfAborted()
      const some = paths.slice(next, next + filesAtOnce)
      next += filesAtOnce
      const limit = Math.min(query.limit - matches.length, maxLimit)
      const files = bytesOf(some.map(path => `${path}\0`).join(''))
      for (const match of matchesIn(await port.search({ start, paths: files, needle, limit }), some))
        matches.push(match)
    }
  }
  await Promise.all(Array.from({ length: searchers }, searcher))
  return matches.slice(0, Math.min(query.limit, matches.length))
}
