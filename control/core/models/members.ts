/** The members of a JSON object by their place in its bytes: what is not asked for is not parsed, however large it is. */
import { parsed, type Json } from './json.ts'

const [quote, backslash, open, close, list, endOfList, comma, colon] = [34, 92, 123, 125, 91, 93, 44, 58] as const
const blanks: ReadonlySet<number | undefined> = new Set([32, 9, 10, 13])

/** Just behind the string that begins at `from`; -1 where it does not end. */
const afterString = (bytes: Buffer, from: number): number => {
  for (let end = bytes.indexOf(quote, from + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let slashes = 0
    for (let before = end - 1; bytes[before] === backslash; before--) slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return -1
}

const skipBlanks = (bytes: Buffer, from: number): number => {
  let at = from
  while (blanks.has(bytes[at])) at++
  return at
}

/** Just behind the value that begins at `from`; -1 where it does not end. */
const afterValue = (bytes: Buffer, from: number): number => {
  let depth = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) {
      const end = afterString(bytes, at)
      if (end < 0) return -1
      at = end - 1
      if (depth === 0) return end
    } else if (byte === open || byte === list) depth++
    else if (byte === close || byte === endOfList) {
      if (depth === 0) return at
      depth--
      if (depth === 0) return at + 1
    } else if (byte === comma && depth === 0) return at
  }
  return -1
}

export interface Member {
  readonly name: string
  /** Where its value begins and ends. */
  readonly from: number
  readonly to: number
}

export interface Members {
  readonly all: readonly Member[]
  /** The value of the last member of that name, parsed. */
  value(name: string): Json
  has(name: string): boolean
  /** The body with a value in place of the last one of that name, or added in front. */
  with(name: string, value: string): Buffer
  /** The body with a member, written out, in front. */
  prepended(member: string): Buffer
}

const scan = (bytes: Buffer): Member[] | undefined => {
  let at = skipBlanks(bytes, 0)
  if (bytes[at] !== open) return undefined
  const all: Member[] = []
  at = skipBlanks(bytes, at + 1)
  if (bytes[at] === close) return all
  for (;;) {
    if (bytes[at] !== quote) return undefined
    const endOfName = afterString(bytes, at)
    if (endOfName < 0) return undefined
    const name = parsed(bytes.toString('utf8', at, endOfName))
    at = skipBlanks(bytes, endOfName)
    if (bytes[at] !== colon || typeof name !== 'string') return undefined
    const from = skipBlanks(bytes, at + 1)
    const to = afterValue(bytes, from)
    if (to <= from) return undefined
    all.push({ name, from, to })
    at = skipBlanks(bytes, to)
    if (bytes[at] === close) return all
    if (bytes[at] !== comma) return undefined
    at = skipBlanks(bytes, at + 1)
  }
}

/** Undefined for what is no JSON object. */
export const membersOf = (bytes: Buffer): Members | undefined => {
  const all = scan(bytes)
  if (!all) return undefined
  const last = (name: string) => all.findLast(member => member.name === name)
  const prepended = (member: string): Buffer => {
    const at = bytes.indexOf(open) + 1
    const rest = all.length > 0 ? `${member},` : member
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(rest), bytes.subarray(at)])
  }
  return {
    all,
    prepended,
    has: name => last(name) !== undefined,
    value(name) {
      const found = last(name)
      return found && parsed(bytes.toString('utf8', found.from, found.to))
    },
    with(name, value) {
      const found = last(name)
      if (!found) return prepended(`${JSON.stringify(name)}:${value}`)
      return Buffer.concat([bytes.subarray(0, found.from), Buffer.from(value), bytes.subarray(found.to)])
    },
  }
}
