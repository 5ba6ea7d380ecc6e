/** Bodies in pieces (RFC 9112, section 7.1), read strictly: extensions and trailers are left out, anything odd is an error. */

const lf = 0x0a
/** Of a line with a size, and of all trailers. */
const maxLineBytes = 4 * 1024
const maxTrailerBytes = 64 * 1024

const sizeLine = /^([0-9a-f]{1,13})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n$/i
const trailerLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n$/

/** Where a reader of chunks is. */
export interface Chunks {
  /** What is read next: the line of a size, so many bytes, the line break behind them, or a trailer. */
  at: 'size' | 'bytes' | 'break' | 'trailer' | 'over'
  left: number
  line: string
  trailerBytes: number
}

const bad = (what: string): Error => new Error(`its body is not in chunks: ${what}`)

/** The line is whole. */
const lineRead = (state: Chunks): void => {
  const { line } = state
  state.line = ''
  if (state.at === 'break') {
    if (line !== '\r\n') throw bad('a chunk is longer than it says')
    state.at = 'size'
  } else if (state.at === 'size') {
    const size = sizeLine.exec(line)?.[1]
    if (size === undefined) throw bad('a size that is none')
    state.left = Number.parseInt(size, 16)
    state.at = state.left === 0 ? 'trailer' : 'bytes'
  } else if (line === '\r\n') state.at = 'over'
  else {
    state.trailerBytes += line.length
    if (!trailerLine.test(line) || state.trailerBytes > maxTrailerBytes) throw bad('a trailer that is none')
  }
}

/** Reads on with a line; returns where it went on to. */
const readLine = (state: Chunks, bytes: Buffer, from: number): number => {
  const end = bytes.indexOf(lf, from)
  const to = end < 0 ? bytes.length : end + 1
  if (state.line.length + to - from > maxLineBytes) throw bad('a line without an end')
  state.line += bytes.toString('latin1', from, to)
  if (end >= 0) lineRead(state)
  return to
}

export const newChunks = (): Chunks => ({ at: 'size', left: 0, line: '', trailerBytes: 0 })

/** Gives what is body of these bytes to `take`; returns how many were read, all of them unless the body has ended. Throws an Error for what are no chunks. */
export const readChunks = (state: Chunks, bytes: Buffer, take: (piece: Buffer) => void): number => {
  let at = 0
  while (at < bytes.length && state.at !== 'over') {
    if (state.at !== 'bytes') {
      at = readLine(state, bytes, at)
      continue
    }
    const to = Math.min(bytes.length, at + state.left)
    take(bytes.subarray(at, to))
    state.left -= to - at
    at = to
    if (state.left === 0) state.at = 'break'
  }
  return at
}
