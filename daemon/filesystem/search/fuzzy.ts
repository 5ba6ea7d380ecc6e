/** Fuzzy matching of a query against paths, scored as fzf's second algorithm scores. */
import { escapesOf } from '../describe.ts'
import type { FilePort } from '../port.ts'
import { excludesOf, limitOf, skipsHidden } from './query.ts'
import { walk } from './walk.ts'

const hit = 16
const gapStart = -3
const gapMore = -1
const boundary = 8
const camel = 7
const consecutive = 4
const firstFactor = 2

/** Lower case without diacritics, so that `resume` finds `Résumé`. */
const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '')

/** Bonus of a match at `index`: after a separator, or at a hump of camelCase. */
const bonusAt = (text: string, index: number): number => {
  if (index === 0) return boundary
  const before = text[index - 1] as string
  const here = text[index] as string
  if (/[^\p{L}\p{N}]/u.test(before)) return boundary
  const hump = (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(here)) || (/\P{N}/u.test(before) && /\p{N}/u.test(here))
  return hump ? camel : 0
}

/** Score of the best match of the letters of `query` in order; undefined when they are not all there. */
export const fuzzyScore = (query: string, text: string): number | undefined => {
  const pattern = plain(query).toLowerCase()
  const original = plain(text)
  const lower = original.toLowerCase()
  if (pattern === '') return 0
  let from = 0
  for (const letter of pattern) {
    const at = lower.indexOf(letter, from)
    if (at < 0) return undefined
    from = at + letter.length
  }
  const width = lower.length
  const bonus = Array.from({ length: width }, (_, index) => bonusAt(original, index))
  // ends[j]: best score with the letters so far and the last of them at j; run[j]: how many in a row end there.
  let ends = new Float64Array(width).fill(Number.NEGATIVE_INFINITY)
  let run = new Int32Array(width)
  for (let letter = 0; letter < pattern.length; letter++) {
    const nextEnds = new Float64Array(width).fill(Number.NEGATIVE_INFINITY)
    const nextRun = new Int32Array(width)
    let reach = Number.NEGATIVE_INFINITY
    for (let at = 0; at < width; at++) {
      // `reach`: best score of an earlier letter's end, less the gap up to here.
      if (at >= 2) reach = Math.max(reach + gapMore, (ends[at - 2] as number) + gapStart)
      if (lower[at] !== pattern[letter]) continue
      const place = bonus[at] as number
      if (letter === 0) {
        nextEnds[at] = hit + place * firstFactor
        nextRun[at] = 1
        continue
      }
      const length = at > 0 ? (run[at - 1] as number) : 0
      const joined =
        at > 0 ? (ends[at - 1] as number) + hit + Math.max(place, consecutive, bonus[at - length] ?? 0) : -1
      const apart = reach + hit + place
      nextEnds[at] = Math.max(joined, apart)
      nextRun[at] = joined >= apart ? length + 1 : 1
    }
    ends = nextEnds
    run = nextRun
  }
  const best = Math.max(...ends)
  return Number.isFinite(best) ? best : undefined
}

interface FuzzyQuery {
  readonly query?: string | undefined
  readonly maxResults?: string | undefined
  readonly excludeDirs?: string | undefined
  readonly excludeHidden?: string | undefined
}

interface FuzzyMatch {
  readonly path: string
  readonly escapedName?: string
  readonly escapedPath?: string
  readonly score: number
  readonly type: 'file' | 'directory'
}

/**
 * Best first; without a query everything, with score 0. Directories that cannot be read, even the start, are left out.
 */
export const fuzzy = async (
  port: FilePort,
  start: string,
  query: FuzzyQuery,
  signal: AbortSignal,
): Promise<FuzzyMatch[]> => {
  const limit = limitOf(query.maxResults, 20)
  const wanted = query.query ?? ''
  const matches: FuzzyMatch[] = []
  await walk(
    port,
    start,
    {
      exclude: excludesOf(query.excludeDirs),
      skipHidden: skipsHidden(query.excludeHidden),
      visit(path, entry) {
        const score = fuzzyScore(wanted, path)
        if (score !== undefined) matches.push({ path, score, type: entry.kind === 'directory' ? 'directory' : 'file' })
        return wanted !== '' || matches.length < limit
      },
      onError: () => {},
    },
    signal,
  )
  matches.sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
  return matches.slice(0, Math.min(limit, matches.length)).map(match => ({ ...match, ...escapesOf(match.path) }))
}
