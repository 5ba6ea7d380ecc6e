/** Server-sent events as bytes: cut where an event ends, never looked into. */

const [lf, cr] = [10, 13]

/** Longer ones are passed on before they are whole. */
const mostBytes = 4 * 1024 * 1024

const nothing: Buffer = Buffer.alloc(0)

/** Just behind the first blank line from `from` on; -1 when there is none yet. */
const endOfFrame = (bytes: Buffer, from: number): number => {
  for (let at = bytes.indexOf(lf, from); at >= 0; at = bytes.indexOf(lf, at + 1)) {
    const next = bytes[at + 1]
    if (next === lf) return at + 2
    if (next === cr && bytes[at + 2] === lf) return at + 3
  }
  return -1
}

export interface Frames {
  /** The whole events that are there now, each with its blank line. */
  push(piece: Buffer): Buffer[]
  /** What came of an event that is not whole. */
  rest(): Buffer
}

export const createFrames = (): Frames => {
  let held: Buffer = nothing
  return {
    push(piece) {
      const bytes = held.length > 0 ? Buffer.concat([held, piece]) : piece
      const frames: Buffer[] = []
      let from = 0
      for (let end = endOfFrame(bytes, 0); end >= 0; end = endOfFrame(bytes, end)) {
        frames.push(bytes.subarray(from, end))
        from = end
      }
      held = bytes.subarray(from)
      if (held.length > mostBytes) {
        frames.push(held)
        held = nothing
      }
      return frames
    },
    rest: () => held,
  }
}

/** The data of an event, its lines joined; '' for one without. */
export const dataOf = (frame: Buffer): string => {
  const lines: string[] = []
  for (const line of frame.toString('utf8').split(/\r\n|\n|\r/))
    if (line.startsWith('data:')) lines.push(line.slice(line[5] === ' ' ? 6 : 5))
  return lines.join('\n')
}
