/** Bytes that are not quite what they were, and their arrival in pieces. */
import type { Random } from '../support/random.ts'

/** A few changes anywhere: bytes, pieces left out, repeated or put in. */
export const mutated = (chance: Random, source: Buffer): Buffer => {
  let bytes = Buffer.from(source)
  for (let changes = chance.below(6); changes > 0 && bytes.length > 0; changes--) {
    const at = chance.below(bytes.length)
    const to = Math.min(bytes.length, at + chance.below(64))
    const pieces = chance.pick([
      [bytes.subarray(0, at), chance.bytes(1 + chance.below(8)), bytes.subarray(to)],
      [bytes.subarray(0, at), bytes.subarray(to)],
      [bytes.subarray(0, to), bytes.subarray(at)],
      [bytes.subarray(0, at)],
    ])
    bytes = Buffer.concat(pieces)
  }
  return bytes
}

export const cut = (chance: Random, bytes: Buffer): Buffer[] => {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + chance.below(chance.pick([2, 100, 5_000, 100_000]))
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** Throws what is no refusal, but a defect of the reader. */
export const refused = (error: unknown): string => {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) throw error
  return error.message
}
