/** Searches file contents and answers as `rg --json` does (its documented JSON Lines), without needing ripgrep. */
import { posix } from 'node:path'
import { errno, fail } from '../../shared/errors.ts'
import type { FilePort } from '../filesystem/port.ts'
import { compilePattern, type LineMatch } from './pattern.ts'
import { decodeText, readBytes } from './source.ts'
import { walk } from './walk.ts'

/** Larger files are left out. */
const maxFileBytes = 16 * 1024 * 1024
/** The search ends after the line with which its output exceeds this. */
const maxOutputBytes = 4 * 1024 * 1024

/** Characters and files that are searched in one step. */
const atOnce = 1024 * 1024
const filesAtOnce = 256

/** A file that may contain matches: its path as shown, and its text. */
interface Found {
  readonly shown: string
  readonly text: string
}

interface GrepRequest {
  readonly query: string
  readonly caseSensitive?: boolean | undefined
  /** Globs as in ripgrep's `-g`: one without a slash matches the base name, a leading slash stands for the root. */
  readonly includePattern?: string | undefined
  readonly excludePattern?: string | undefined
}

/** Whether a glob matches a path that is relative to the root of the search. */
export const matchesGlob = (path: string, glob: string): boolean => {
  if (!glob.includes('/')) return posix.matchesGlob(posix.basename(path), glob)
  if (glob.startsWith('/')) return posix.matchesGlob(path, glob.slice(1))
  return posix.matchesGlob(path, glob) || posix.matchesGlob(path, `**/${glob}`)
}

/** How many bytes of a text are before a place, which is in UTF-16 units; asked for in order. */
const byteCounter = (text: string) => {
  let [units, bytes] = [0, 0]
  return (at: number): number => {
    bytes += Buffer.byteLength(text.slice(units, at))
    units = at
    return bytes
  }
}

const matchLine = (path: string, offset: number, { line, text, isLast, spans }: LineMatch): string => {
  const bytesAt = byteCounter(text)
  return JSON.stringify({
    type: 'match',
    data: {
      path: { text: path },
      lines: { text: isLast ? text : `${text}\n` },
      line_number: line,
      absolute_offset: offset,
      submatches: spans.map(([start, end]) => ({
        match: { text: text.slice(start, end) },
        start: bytesAt(start),
        end: bytesAt(end),
      })),
    },
  })
}

/** The lines about one file, until they are `room` long. */
const fileLines = (path: string, text: string, found: readonly LineMatch[], room: number): string[] => {
  const offsetAt = byteCounter(text)
  const lines = [JSON.stringify({ type: 'begin', data: { path: { text: path } } })]
  let left = room
  for (const match of found) {
    if (left < 0) break
    const line = matchLine(path, offsetAt(match.start), match)
    lines.push(line)
    left -= line.length
  }
  return [...lines, JSON.stringify({ type: 'end', data: { path: { text: path }, binary_offset: null } })]
}

const readText = async (port: FilePort, path: string): Promise<string | undefined> => {
  const bytes = await readBytes(port, path, maxFileBytes).catch(error => {
    // Files that are too large or cannot be read are left out.
    if (errno(error) !== undefined) return undefined
    throw error
  })
  return bytes && !bytes.includes(0) ? decodeText(bytes) : undefined
}

/**
 * JSON Lines of all matches below `root`, without hidden and binary files. Throws `not_found` when there is none,
 * `unprocessable` when the query is no regular expression or takes too long.
 */
export const grep = async (
  deps: { port: FilePort; root: string },
  request: GrepRequest,
  signal: AbortSignal,
): Promise<string> => {
  const { port, root } = deps
  const { query, caseSensitive, includePattern, excludePattern } = request
  const pattern = compilePattern(query, { ignoreCase: !caseSensitive })
  const output: string[] = []
  let size = 0
  const look = (files: readonly Found[]): void => {
    const found = pattern.lines(files.map(({ text }) => text))
    for (const [index, { shown, text }] of files.entries()) {
      const matches = found[index] ?? []
      if (matches.length === 0 || size > maxOutputBytes) continue
      const lines = fileLines(shown, text, matches, maxOutputBytes - size)
      output.push(...lines)
      size += lines.reduce((sum, line) => sum + line.length, 0)
    }
  }
  const enter = (name: string) => !name.startsWith('.') && name !== 'node_modules'
  let files: Found[] = []
  let gathered = 0
  for await (const path of walk(port, root, { signal, enter })) {
    const shown = posix.relative(root, path)
    if (posix.basename(path).startsWith('.')) continue
    if (includePattern && !matchesGlob(shown, includePattern)) continue
    if (excludePattern && matchesGlob(shown, excludePattern)) continue
    const text = await readText(port, path)
    if (text === undefined) continue
    files.push({ shown, text })
    gathered += text.length
    if (gathered < atOnce && files.length < filesAtOnce) continue
    look(files)
    files = []
    gathered = 0
    if (size > maxOutputBytes) break
  }
  look(files)
  if (output.length === 0) throw fail('not_found', { kind: 'match for', name: query })
  return `${output.join('\n')}\n`
}
