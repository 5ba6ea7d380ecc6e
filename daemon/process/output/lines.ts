/** The two streams of a process; the numbers index offsets and names everywhere below. */
export type StreamIndex = 0 | 1
export const streamNames = ['stdout', 'stderr'] as const
export const streamPrefixes = [Buffer.from('stdout:'), Buffer.from('stderr:')] as const
const prefixLength = 7
export const newline = 10

/** A line is broken after so many bytes, which bounds what is held back until its end. */
export const maxLineBytes = 1024 * 1024

/** The largest output of `prefixLines` for `length` bytes: each byte is an empty line. */
export const prefixedBound = (length: number): number => length * (prefixLength + 1) + prefixLength

/**
 * Copies `source[from, to)` to `target`, with `prefix` before each line; `inLine` says that the first byte goes on with
 * a line that has its prefix. Returns the bytes written. A loop over bytes: for short lines it beats a search per line.
 */
export const prefixLines = (
  source: Uint8Array,
  from: number,
  to: number,
  prefix: Uint8Array,
  target: Uint8Array,
  inLine: boolean,
): number => {
  let out = 0
  let fresh = !inLine
  for (let at = from; at < to; at++) {
    if (fresh) {
      for (let index = 0; index < prefixLength; index++) target[out++] = prefix[index] as number
      fresh = false
    }
    const byte = source[at] as number
    target[out++] = byte
    fresh = byte === newline
  }
  return out
}

/** The line in place of output that is gone; without its newline. */
export const truncatedLine = (bytes: number): string => `[... truncated ${bytes} bytes]`

/** The same in a stream whose reader counts bytes: it goes on counting from `cursor`. */
export const gapLine = (bytes: number, cursor: number): string =>
  `[... truncated ${bytes} bytes, continues at cursor ${cursor}]`
