/** Counts of tokens as a provider tells them. */
import type { CountsAt, Dialect } from './dialects/dialect.ts'
import { at, isObject, parsed, type Json } from './json.ts'

export type Told = { -readonly [member in 'input' | 'output' | 'cached' | 'reasoning']?: number }

/** Beyond this nobody believes a count. */
const most = 1e12

const countAt = (usage: Json, path: string): number | undefined => {
  const value = at(usage, path)
  return typeof value === 'number' && value >= 0 && value <= most ? Math.round(value) : undefined
}

const sumAt = (usage: Json, paths: readonly string[]): number | undefined => {
  const found = paths.map(path => countAt(usage, path)).filter(count => count !== undefined)
  return found.length > 0 ? found.reduce((sum, count) => sum + count, 0) : undefined
}

const read = (usage: Json, counts: CountsAt, into: Told): void => {
  const put = (name: keyof Told, count: number | undefined) => {
    // Not every event repeats what an earlier one has told.
    if (count !== undefined && count >= (into[name] ?? 0)) into[name] = count
  }
  put('input', sumAt(usage, counts.sent))
  // The last event alone knows how long the answer is.
  const received = sumAt(usage, counts.received)
  if (received !== undefined) into.output = received
  if (counts.cached) put('cached', countAt(usage, counts.cached))
  if (counts.reasoning) put('reasoning', countAt(usage, counts.reasoning))
}

/** Reads what an answer, or an event, tells at the first of these paths. */
export const readTold = (answer: Json, paths: readonly string[], counts: CountsAt, into: Told): void => {
  const usage = paths.map(path => at(answer, path)).find(found => isObject(found))
  if (usage) read(usage, counts, into)
}

/** The usage object of a large answer, by its last mention: no string can have it unescaped. */
export const usageAtEnd = (body: Buffer, { usage }: Dialect): Json => {
  for (const path of usage.body) {
    const name = path.split('.')[0] as string
    const begin = body.lastIndexOf(`"${name}"`)
    const open = begin < 0 ? -1 : body.indexOf('{', begin)
    if (open < 0) continue
    for (let close = body.indexOf('}', open); close >= 0 && close - open < 4096; close = body.indexOf('}', close + 1)) {
      const found = parsed(body.toString('utf8', open, close + 1))
      if (isObject(found)) return { [name]: found }
    }
  }
  return undefined
}
