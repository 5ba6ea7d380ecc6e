/** Shell patterns on a base name: `*`, `?`, `[a-z]`, `[^a]`, `\x`. A malformed pattern matches nothing. */

type One = (char: string) => boolean
/** `undefined` stands for a star. */
type Token = One | undefined

/** Reads one literal, which may be escaped by a backslash. */
const literalAt = (chars: readonly string[], at: number): { char: string; end: number } | undefined => {
  const escaped = chars[at] === '\\' ? at + 1 : at
  const char = chars[escaped]
  return char === undefined ? undefined : { char, end: escaped + 1 }
}

/** The class that begins at `[`, and where it ends; undefined when malformed. */
const classAt = (chars: readonly string[], start: number): { one: One; end: number } | undefined => {
  const negated = chars[start + 1] === '^'
  const ranges: { low: string; high: string }[] = []
  let at = start + (negated ? 2 : 1)
  while (chars[at] !== ']' || ranges.length === 0) {
    if (chars[at] === ']' || chars[at] === '-') return undefined
    const low = literalAt(chars, at)
    if (!low) return undefined
    let high: typeof low | undefined = low
    if (chars[low.end] === '-') {
      if (chars[low.end + 1] === ']' || chars[low.end + 1] === '-') return undefined
      high = literalAt(chars, low.end + 1)
      if (!high) return undefined
    }
    ranges.push({ low: low.char, high: high.char })
    at = high.end
  }
  const one: One = char => ranges.some(({ low, high }) => low <= char && char <= high) !== negated
  return { one, end: at + 1 }
}

const tokensOf = (chars: readonly string[]): Token[] | undefined => {
  const tokens: Token[] = []
  for (let at = 0; at < chars.length; ) {
    if (chars[at] === '*') {
      tokens.push(undefined)
      at++
    } else if (chars[at] === '?') {
      tokens.push(() => true)
      at++
    } else if (chars[at] === '[') {
      const found = classAt(chars, at)
      if (!found) return undefined
      tokens.push(found.one)
      at = found.end
    } else {
      const literal = literalAt(chars, at)
      if (!literal) return undefined
      tokens.push(char => char === literal.char)
      at = literal.end
    }
  }
  return tokens
}

/** Backtracks only to the last star, which bounds the time by the product of both lengths. */
const matches = (tokens: readonly Token[], chars: readonly string[]): boolean => {
  let token = 0
  let char = 0
  let star = -1
  let resume = 0
  while (char < chars.length) {
    const one = tokens[token]
    if (token < tokens.length && one === undefined) {
      star = token++
      resume = char
    } else if (one?.(chars[char] as string)) {
      token++
      char++
    } else if (star >= 0) {
      token = star + 1
      char = ++resume
    } else return false
  }
  while (token < tokens.length && tokens[token] === undefined) token++
  return token === tokens.length
}

/** A test for base names. */
export const glob = (pattern: string): ((name: string) => boolean) => {
  const tokens = tokensOf([...pattern])
  return tokens ? name => matches(tokens, [...name]) : () => false
}
