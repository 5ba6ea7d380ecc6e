import type { StreamIndex } from './lines.ts'

/** A piece of one stream within the order in which both were captured. */
export interface Run {
  readonly stream: StreamIndex
  /** Offset in the order of both streams together, counted in bytes of output. */
  readonly at: number
  /** Offset in the stream's own file. */
  readonly offset: number
  readonly length: number
}

export const runBytes = 24

/**
 * The order in which bytes of both streams were captured: alternating runs, neighbours of the same stream merged, so a
 * process that only writes to one costs one run. At `limit` runs the older half is forgotten.
 */
export interface Runs {
  /** Offset of the oldest run that is still known. */
  readonly base: number
  readonly end: number
  readonly count: number
  add(stream: StreamIndex, offset: number, length: number): void
  /** The rest of the run that holds offset `at`, or undefined when it is forgotten or not there yet. */
  find(at: number): Run | undefined
  /** Bytes of all runs, and of those from number `from` on. */
  encode(from?: number): Buffer
}

const decode = (bytes: Buffer): { streams: StreamIndex[]; starts: number[]; offsets: number[]; end: number } => {
  const streams: StreamIndex[] = []
  const starts: number[] = []
  const offsets: number[] = []
  let end = 0
  for (let at = 0; at + runBytes <= bytes.length; at += runBytes) {
    const packed = bytes.readDoubleLE(at + 16)
    const start = bytes.readDoubleLE(at)
    streams.push(packed < 0 ? 1 : 0)
    starts.push(start)
    offsets.push(bytes.readDoubleLE(at + 8))
    end = start + Math.abs(packed)
  }
  return { streams, starts, offsets, end }
}

export const createRuns = (options: { limit?: number; from?: Buffer } = {}): Runs => {
  const { limit = 65_536, from } = options
  let { streams, starts, offsets, end } = from ? decode(from) : { streams: [], starts: [], offsets: [], end: 0 }
  const lengthOf = (index: number): number => (starts[index + 1] ?? end) - (starts[index] as number)
  return {
    get base() {
      return starts[0] ?? end
    },
    get end() {
      return end
    },
    get count() {
      return streams.length
    },
    add(stream, offset, length) {
      const last = streams.length - 1
      if (streams[last] !== stream) {
        if (streams.length >= limit) {
          const keep = Math.ceil(limit / 2)
          streams = streams.slice(-keep)
          starts = starts.slice(-keep)
          offsets = offsets.slice(-keep)
        }
        streams.push(stream)
        starts.push(end)
        offsets.push(offset)
      }
      end += length
    },
    find(at) {
      if (at >= end || at < (starts[0] ?? end)) return undefined
      let low = 0
      let high = starts.length - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if ((starts[middle] as number) <= at) low = middle
        else high = middle - 1
      }
      const into = at - (starts[low] as number)
      return {
        stream: streams[low] as StreamIndex,
        at,
        offset: (offsets[low] as number) + into,
        length: lengthOf(low) - into,
      }
    },
    encode(first = 0) {
      const bytes = Buffer.alloc(Math.max(0, streams.length - first) * runBytes)
      for (let index = first; index < streams.length; index++) {
        const at = (index - first) * runBytes
        bytes.writeDoubleLE(starts[index] as number, at)
        bytes.writeDoubleLE(offsets[index] as number, at + 8)
        // The sign carries the stream; a run is never empty.
        bytes.writeDoubleLE(streams[index] === 1 ? -lengthOf(index) : lengthOf(index), at + 16)
      }
      return bytes
    },
  }
}
