/** The steps of capturing: reading what is new, skipping what is gone, giving the head back to the disk. */
import { fstatSync, readSync } from 'node:fs'
import { punchHoleInBackground, type Hole } from '../../native/hole/hole.ts'
import { punchHole } from '../../native/sys/sys.ts'
import type { OutputFiles } from './files.ts'
import { maxLineBytes, newline, truncatedLine, type StreamIndex } from './lines.ts'
import type { Positions } from './positions.ts'
import { breakLine, render, renderLine, type Scratch } from './render.ts'

const pageBytes = 4096
/** Giving back more than this takes long enough to be done on another thread. */
const asideBytes = 8 * 1024 * 1024

/** stdout first: when both have grown since the last poll, this is the order of their bytes. */
export const streams: readonly StreamIndex[] = [0, 1]

/** What the steps work on. */
export interface CaptureState {
  readonly files: OutputFiles
  readonly positions: Positions
  readonly scratch: Scratch
  /** Ranges that another thread is giving back, by part. */
  readonly holes: (Hole | undefined)[]
}

const renderTo = ({ files, positions, scratch }: CaptureState, stream: StreamIndex, to: number): void =>
  render({ stream: files.streams()[stream], combined: files.combined() }, positions, stream, to, scratch)

/** The end of a stream, by the size of its file. */
const endOf = ({ files, positions }: CaptureState, stream: StreamIndex): number =>
  fstatSync(files.streams()[stream]).size + positions.origins[stream]

/**
 * A process that opens /dev/stdout for writing truncates its file, as `echo >/dev/stderr` does. What was captured stays
 * in the combined log, and new bytes go on at the same offset of the stream. False when the file was not truncated.
 */
const restartAfterTruncation = (state: CaptureState, stream: StreamIndex): boolean => {
  const { files, positions } = state
  const { seen, rendered, heads, origins } = positions
  if (seen[stream] === origins[stream] || endOf(state, stream) >= seen[stream]) return false
  const lost = seen[stream] - rendered[stream]
  if (lost > 0) renderLine(files.combined(), positions, stream, truncatedLine(lost))
  heads[stream] = rendered[stream] = origins[stream] = seen[stream]
  return true
}

/** Takes new bytes of a stream, about `budget` of them; complete lines go into the combined log. Returns how many. */
export const advance = (state: CaptureState, stream: StreamIndex, budget: number): number => {
  const { files, positions, scratch } = state
  const { seen, rendered, origins, runs } = positions
  const { source } = scratch
  const fd = files.streams()[stream]
  let taken = 0
  while (taken < budget) {
    const length = readSync(fd, source, 0, source.length, seen[stream] - origins[stream])
    if (length === 0 && taken === 0 && restartAfterTruncation(state, stream)) continue
    if (length === 0) break
    const line = seen[stream] + source.subarray(0, length).lastIndexOf(newline) + 1
    runs.add(stream, seen[stream], length)
    const before = seen[stream]
    seen[stream] += length
    taken += length
    if (line > before) renderTo(state, stream, line)
    while (seen[stream] - rendered[stream] >= maxLineBytes) {
      renderTo(state, stream, rendered[stream] + maxLineBytes)
      breakLine(files.combined(), positions)
    }
    if (length < source.length) break
  }
  return taken
}

/** Takes everything up to where the files reach now: what outlives the process may write for ever. */
export const drain = (state: CaptureState): void => {
  const { positions } = state
  for (const stream of streams) restartAfterTruncation(state, stream)
  const ends = streams.map(stream => endOf(state, stream))
  for (const stream of streams) {
    const left = (): number => (ends[stream] as number) - positions.seen[stream]
    while (left() > 0 && advance(state, stream, left()) > 0);
  }
}

/** Puts unfinished last lines into the combined log. */
export const flushLines = (state: CaptureState): void => {
  const { seen, rendered } = state.positions
  for (const stream of streams) if (rendered[stream] < seen[stream]) renderTo(state, stream, seen[stream])
}

/** Bytes that left the disk before they were looked at: said in the combined log, never hidden. */
const skip = ({ files, positions }: CaptureState, stream: StreamIndex, to: number): void => {
  const { seen, rendered, runs } = positions
  renderLine(files.combined(), positions, stream, truncatedLine(to - rendered[stream]))
  if (to > seen[stream]) {
    runs.add(stream, seen[stream], to - seen[stream])
    seen[stream] = to
  }
  rendered[stream] = to
}

/** Whether another thread still gives back what was asked for last. Throws when that failed. */
const isBusy = (holes: (Hole | undefined)[], part: 0 | 1 | 2): boolean => {
  const hole = holes[part]
  if (!hole) return false
  holes[part] = undefined
  if (hole()) holes[part] = hole
  return holes[part] !== undefined
}

/**
 * Gives the head of one file back to the disk when it holds clearly more than `share` bytes; true when it did. `inBackground`:
 * a large one is left to another thread, for which later calls wait; its bytes count as gone at once.
 */
export const capPart = (state: CaptureState, part: 0 | 1 | 2, share: number, inBackground: boolean): boolean => {
  const { files, positions, holes } = state
  const fd = part === 2 ? files.combined() : files.streams()[part]
  const head = positions.heads[part]
  const size = part === 2 ? positions.combined : endOf(state, part)
  if (size - head <= share + share / 8) return false
  const next = Math.floor((size - share) / pageBytes) * pageBytes
  if (next <= head || (inBackground && isBusy(holes, part))) return false
  const inFile = part === 2 ? next : next - positions.origins[part]
  const hole = inBackground && next - head > asideBytes ? punchHoleInBackground(fd, inFile) : undefined
  if (hole) holes[part] = hole
  if (part !== 2 && next > positions.rendered[part]) skip(state, part, next)
  if (!hole) punchHole(fd, 0, inFile)
  positions.heads[part] = next
  return true
}
