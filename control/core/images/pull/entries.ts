/**
 * The entries of a tar archive where the unpacker finds them (Go's archive/tar, which umoci reads layers with). Readers differ about
 * archives that are not quite in order: how much content a link has, or a file whose name ends in a slash, and in which digits. In
 * what one of them takes for content another one finds entries, so what could be read in two ways is refused.
 *
 * Format: POSIX.1-1988 (ustar) and POSIX.1-2001 (pax), with GNU's long names and binary numbers.
 */
import { readRecords, type Records } from './records.ts'

export interface LayerEntry {
  readonly name: string
  readonly linkname: string
  /** Not a number, or below zero, where the archive says none. */
  readonly uid: number
  readonly gid: number
  /** Of its own extended header. */
  readonly records: Records
}

const blockBytes = 512
/** Of an extended header or a long name: the unpacker's own bound. */
const mostSpecial = 1024 * 1024

/** Files have content; hard links, symbolic links, devices, directories and pipes have none, whatever their size says. */
const fileTypes = ['0', '\0']
const emptyTypes = ['1', '2', '3', '4', '5', '6']
const specialTypes = ['x', 'L', 'K']

const textAt = (block: Buffer, at: number, length: number): string => {
  const text = block.toString('latin1', at, at + length)
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}

/** Octal digits, or GNU's binary number; NaN for anything else. */
const numberAt = (block: Buffer, at: number, length: number): number => {
  if ((block[at] as number) & 0x80) {
    let value = (block[at] as number) & 0x7f
    if (value & 0x40) return Number.NaN
    for (let next = at + 1; next < at + length; next++) value = value * 256 + (block[next] as number)
    return value
  }
  const trimmed = block.toString('latin1', at, at + length).replace(/^[ \0]+/, '')
  const digits = (trimmed.split('\0', 1)[0] as string).replace(/ +$/, '')
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : Number.NaN
}

/** The sum of all bytes, those of the sum itself as blanks. */
const isSummed = (block: Buffer): boolean => {
  let sum = 8 * 0x20
  for (let at = 0; at < blockBytes; at++) if (at < 148 || at >= 156) sum += block[at] as number
  return sum === numberAt(block, 148, 8)
}

const decimal = (text: string): number => (/^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN)

/** What stands before an entry and is about it. */
interface Before {
  records: Records
  longName: string | undefined
  longLink: string | undefined
}
const nothing = (): Before => ({ records: {}, longName: undefined, longLink: undefined })

/** The entry, and the bytes of content that follow. */
const entryOf = (block: Buffer, { records, longName, longLink }: Before): { entry: LayerEntry; size: number } => {
  const type = block.toString('latin1', 156, 157)
  // Which of these two counts is another thing that readers differ about.
  const names = [longName, records['path']].filter(one => one)
  if (names.length === 0) names.push(textAt(block, 0, 100) || `${textAt(block, 345, 155)}/`)
  const name = names[0] as string
  const given = (key: string, otherwise: number) => (records[key] ? decimal(records[key]) : otherwise)
  const said = given('size', numberAt(block, 124, 12))
  const size = emptyTypes.includes(type) ? 0 : said
  const shown = JSON.stringify(name.slice(0, 200))
  if (!fileTypes.includes(type) && !emptyTypes.includes(type))
    throw new Error(`has an entry of an unknown type, ${shown}`)
  if (!Number.isSafeInteger(said)) throw new Error(`has a size that cannot be, ${shown}`)
  if (size > 0 && names.some(one => one?.endsWith('/'))) throw new Error(`has a directory with content, ${shown}`)
  const linkname = longLink ?? (records['linkpath'] || textAt(block, 157, 100))
  const uid = given('uid', numberAt(block, 108, 8))
  const gid = given('gid', numberAt(block, 116, 8))
  return { entry: { name, linkname, uid, gid, records }, size }
}

export interface EntryReader {
  /** The next bytes of the archive. Throws, with a reason of which the layer is the subject, for what is not in order. */
  feed(bytes: Buffer): void
  /** No more will come. Throws when there should be more. */
  end(): void
}

/** What is done with the next bytes, once there are as many as it takes. */
type Step = (bytes: Buffer) => void

/** Passes bytes over, and gathers those that a step takes. */
const createPieces = () => {
  let held: Buffer[] = []
  let count = 0
  return {
    get isEmpty() {
      return count === 0
    },
    /** Takes of `bytes` what is missing; undefined while something is. */
    take(bytes: Buffer, wanted: number): { readonly all: Buffer | undefined; readonly rest: Buffer } {
      const piece = bytes.subarray(0, wanted - count)
      const rest = bytes.subarray(piece.length)
      held.push(piece)
      count += piece.length
      if (count < wanted) return { all: undefined, rest }
      const all = held.length === 1 ? piece : Buffer.concat(held)
      held = []
      count = 0
      return { all, rest }
    },
  }
}

const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

const isZero = (block: Buffer): boolean => block.every(byte => byte === 0)

/** Tells of each entry as its header arrives. */
export const readEntries = (found: (entry: LayerEntry) => void): EntryReader => {
  const pieces = createPieces()
  let before = nothing()
  let skip = 0
  let next: { wanted: number; step: Step }
  let isOver = false

  const onEnd: Step = block => {
    if (!isZero(block)) throw new Error('goes on after its end')
    isOver = true
  }
  const onSpecial = (type: string, content: Buffer): void => {
    if (type === 'x') before.records = readRecords(content)
    else before[type === 'L' ? 'longName' : 'longLink'] = textAt(content, 0, content.length)
    next = { wanted: blockBytes, step: onHeader }
  }
  const onHeader: Step = block => {
    if (isZero(block)) {
      next = { wanted: blockBytes, step: onEnd }
      return
    }
    if (!isSummed(block)) throw new Error('is not a tar archive')
    const type = block.toString('latin1', 156, 157)
    if (specialTypes.includes(type)) {
      const size = numberAt(block, 124, 12)
      if (!(size <= mostSpecial)) throw new Error(`has an extended header larger than ${mostSpecial} bytes`)
      next = { wanted: size + paddingOf(size), step: content => onSpecial(type, content.subarray(0, size)) }
      return
    }
    const { entry, size } = entryOf(block, before)
    before = nothing()
    skip = size + paddingOf(size)
    found(entry)
  }
  next = { wanted: blockBytes, step: onHeader }

  return {
    feed(bytes) {
      for (let rest = bytes; !isOver; ) {
        const skipped = Math.min(skip, rest.length)
        skip -= skipped
        if (skip > 0) return
        const taken = pieces.take(rest.subarray(skipped), next.wanted)
        if (!taken.all) return
        rest = taken.rest
        next.step(taken.all)
      }
    },
    end() {
      const isBetween = next.step === onEnd || (next.step === onHeader && skip === 0)
      if (!isOver && !(isBetween && pieces.isEmpty)) throw new Error('is cut off')
    },
  }
}
