/** Chance that comes out the same every time: a test that fails must fail again. */
export interface Random {
  /** An integer from 0 to below `n`. */
  below(n: number): number
  pick<T>(from: readonly T[]): T
  bytes(length: number): Buffer
  /** Text with a bias for what parsers stumble over. */
  text(): string
  /** Any JSON value, nested at most `depth` deep. */
  json(depth?: number): unknown
}

const odd = [
  '',
  '\0',
  '\r\n',
  '%',
  '%00',
  '..',
  '/',
  '\ud800',
  '🙂',
  '{',
  '"',
  '\\',
  '<',
  ' ',
  '-1',
  '1e999',
  'null',
  'true',
]

/** Mulberry32: 32 bits of state are plenty for choosing test inputs. */
export const random = (seed: number): Random => {
  let state = seed
  const below = (n: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n)
  }
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T
  const text = (): string =>
    Array.from({ length: below(6) }, () => (below(2) ? pick(odd) : String.fromCharCode(below(0x2fff)))).join('')
  const json = (depth = 3): unknown => {
    const kind = below(depth > 0 ? 8 : 6)
    if (kind === 0) return null
    if (kind === 1) return below(2) === 1
    if (kind === 2) return pick([0, -1, 1.5, 1e21, -1e308, 2 ** 31, 2 ** 53, below(1000)])
    if (kind < 6) return text()
    if (kind === 6) return Array.from({ length: below(4) }, () => json(depth - 1))
    return Object.fromEntries(Array.from({ length: below(4) }, () => [text(), json(depth - 1)]))
  }
  return { below, pick, text, json, bytes: length => Buffer.from(Array.from({ length }, () => below(256))) }
}
