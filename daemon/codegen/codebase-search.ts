/** Finds the places in a code base that a question is about, by its words, without an index or a model. */
import { posix } from 'node:path'
import { errno } from '../../shared/errors.ts'
import type { FilePort } from '../filesystem/port.ts'
import { decodeText, readBytes } from './source.ts'
import { walk } from './walk.ts'

const maxResults = 20
/** Bytes; larger files are data more often than code. */
const maxFileBytes = 1024 * 1024
const shownCharacters = 200
const skipped = new Set(['node_modules', 'vendor', 'dist', 'build', 'target', '__pycache__'])

/** The words of a text in lower case, including the parts of camelCase and snake_case names. */
const wordsOf = (text: string): Set<string> =>
  new Set(
    text
      .replace(/([a-z\d])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter(word => word.length > 2),
  )

const shared = (wanted: ReadonlySet<string>, text: string): number =>
  [...wordsOf(text)].filter(word => wanted.has(word)).length

interface Place {
  readonly text: string
  readonly score: number
}

/** The best line of a file; words elsewhere in the file or in its path add to its score. */
const bestPlace = (wanted: ReadonlySet<string>, path: string, content: string): Place | undefined => {
  const whole = shared(wanted, content) + shared(wanted, path)
  if (whole === 0) return undefined
  const lines = content.split('\n').map((line, index) => ({ line, index, score: shared(wanted, line) }))
  const best = lines.reduce((a, b) => (b.score > a.score ? b : a))
  const text = `${path}:${best.index + 1}: ${best.line.trim().slice(0, shownCharacters)}`
  return { text, score: whole + best.score / (wanted.size + 1) }
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
 * At most twenty lines `path:line: text`, best first, from files below the directories given; all paths are absolute.
 */
export const searchCodebase = async (
  port: FilePort,
  asked: { query: string; directories: readonly string[] },
  signal: AbortSignal,
): Promise<string[]> => {
  const wanted = wordsOf(asked.query)
  const places = new Map<string, Place>()
  const enter = (name: string) => !name.startsWith('.') && !skipped.has(name)
  for (const directory of asked.directories)
    for await (const path of walk(port, directory, { enter, signal })) {
      if (posix.basename(path).startsWith('.') || places.has(path)) continue
      const text = await readText(port, path)
      const place = text === undefined ? undefined : bestPlace(wanted, path, text)
      if (place) places.set(path, place)
    }
  return [...places.values()]
    .toSorted((a, b) => b.score - a.score)
    .slice(0, maxResults)
    .map(({ text }) => text)
}
