import { readSync, writeSync } from 'node:fs'
import { isGone, createOutputFiles, type OutputFiles } from './files.ts'
import type { OutputPaths } from './names.ts'
import { freshPositions, loadPositions, createPositionsFile, type Positions } from './positions.ts'
import type { Scratch } from './render.ts'
import type { OutputFilePools } from './file-pool.ts'
import { advance, capPart, drain, flushLines, streams, type CaptureState } from './capture-steps.ts'

/** Bytes of one stream taken in one go, so that a flood leaves room for everything else. */
export const sliceBytes = 1024 * 1024
/** The same while more is thrown away than taken: what counts then is to be back soon. */
const floodedSliceBytes = 128 * 1024

/** The output of one process, as its two streams grow: what has been captured, in which order, and how much is kept. */
export interface Capture {
  readonly positions: Positions
  /** The end was captured: nothing is waited for any more. */
  readonly ended: boolean
  /** Descriptors for the child's stdout and stderr. */
  readonly childDescriptors: readonly [number, number]
  /** Takes what is new, at most a slice per stream. True when there was something. */
  poll(): boolean
  /** The last `poll` did not get to the end of what was there. */
  readonly behind: boolean
  /** Takes everything there is now; the child has ended, another one may go on with the same files. */
  drain(): void
  /** Drains, hands out unfinished lines and ends the streams that follow. */
  end(): void
  /** Puts a line of the daemon's own into stdout. */
  note(text: string): void
  /** Gives the head of every file beyond `share` bytes back to the disk; with `inBackground` without waiting for the disk. */
  cap(share: number, inBackground?: boolean): void
  /** Bytes on disk. */
  retained(): number
  /** Reads at an absolute offset: stdout (0), stderr (1), combined log (2). 0 at the end. */
  read(part: 0 | 1 | 2, target: Buffer, offset: number): number
  /** Calls `run` after every growth and at the end, until the returned function is called. */
  onChange(run: () => void): () => void
  /** Keeps files open while somebody reads. */
  hold(): () => void
  /** Renames the files; whoever reads goes on reading. */
  move(paths: OutputPaths): void
  /** Removes the files. */
  remove(): void
  close(): void
}

export interface CaptureOptions {
  readonly paths: OutputPaths
  /** Makes new files, else it goes on where it stood. */
  readonly fresh: boolean
  readonly ended: boolean
  readonly scratch: Scratch
  /** Where new files come from, if they need not be made. */
  readonly pools?: OutputFilePools
  /** Of the workload, when it is not root. */
  readonly group?: number | undefined
}

/** Reads `part` as far as it is captured. */
const readPart = (state: CaptureState, part: 0 | 1 | 2, target: Buffer, offset: number): number => {
  const { files, positions } = state
  const end = part === 2 ? positions.combined : positions.seen[part]
  const wanted = Math.min(target.length, end - offset)
  if (wanted <= 0) return 0
  if (part === 2) return readSync(files.combined(), target, 0, wanted, offset)
  return readSync(files.streams()[part], target, 0, wanted, offset - positions.origins[part])
}

/** Who hears of growth. */
const createListeners = () => {
  const listeners = new Set<() => void>()
  return {
    add(run: () => void) {
      listeners.add(run)
      return () => void listeners.delete(run)
    },
    tell() {
      for (const run of listeners) run()
    },
  }
}

/** Keeps files open while somebody holds them, and those of a process that has ended no longer. */
const createHolders = (files: OutputFiles, close: () => void, hasEnded: () => boolean) => {
  let holders = 0
  const closeIfIdle = (): void => {
    if (hasEnded() && holders === 0) close()
  }
  return {
    closeIfIdle,
    hold() {
      holders++
      let held = true
      return () => {
        if (!held) return
        held = false
        holders--
        closeIfIdle()
      }
    },
    /** Runs with the files of a process that may have ended; `otherwise` when the tenant has removed them. */
    visit<T>(run: () => T, otherwise: T): T {
      const wasOpen = files.isOpen
      try {
        return run()
      } catch (error) {
        if (hasEnded() && isGone(error)) return otherwise
        throw error
      } finally {
        if (!wasOpen) closeIfIdle()
      }
    },
  }
}

/** Opens the capture of a run. */
export const openCapture = (options: CaptureOptions): Capture => {
  const { paths, fresh, ended: wasEnded, scratch, pools, group } = options
  const positions = (fresh ? undefined : loadPositions(paths.positions)) ?? freshPositions()
  let saver = createPositionsFile(paths.positions, pools?.positions)
  let ended = wasEnded
  let behind = false
  let flooded = false
  const combinedIsEmpty = (): boolean => positions.combined === 0
  const files = createOutputFiles({ paths, fresh, mayMake: () => !ended, combinedIsEmpty, pools, group })
  const state: CaptureState = { files, positions, scratch, holes: [] }
  const listeners = createListeners()
  const total = (): number => positions.seen[0] + positions.seen[1]
  const close = (): void => {
    saver.close()
    files.close()
  }
  const { hold, visit, closeIfIdle } = createHolders(files, close, () => ended)
  const grown = (before: number): boolean => {
    if (total() === before) return false
    saver.save(positions)
    listeners.tell()
    return true
  }
  const poll = (): boolean => {
    const before = total()
    const budget = flooded ? floodedSliceBytes : sliceBytes
    behind = flooded = false
    for (const stream of streams) behind = advance(state, stream, budget) >= budget || behind
    return grown(before)
  }
  const end = (): void => {
    try {
      drain(state)
      flushLines(state)
      if (total() > 0) saver.save(positions)
    } finally {
      ended = true
      listeners.tell()
      closeIfIdle()
    }
  }
  const cap = (share: number, inBackground: boolean): void => {
    const parts = positions.combined > 0 ? ([0, 1, 2] as const) : ([0, 1] as const)
    let changed = false
    for (const part of parts) changed = capPart(state, part, share, inBackground) || changed
    if (!changed) return
    flooded = behind
    saver.save(positions)
    if (!ended) listeners.tell()
  }
  return {
    positions,
    get ended() {
      return ended
    },
    get behind() {
      return behind
    },
    get childDescriptors() {
      return files.streams()
    },
    poll,
    drain() {
      const before = total()
      visit(() => drain(state), undefined)
      grown(before)
    },
    end,
    note: text => void writeSync(files.streams()[0], text),
    cap: (share, inBackground = false) =>
      share === Number.POSITIVE_INFINITY ? undefined : visit(() => cap(share, inBackground), undefined),
    retained: () => total() - positions.heads[0] - positions.heads[1] + positions.combined - positions.heads[2],
    read: (part, target, offset) => visit(() => readPart(state, part, target, offset), 0),
    onChange: listeners.add,
    hold,
    move(to) {
      saver.close()
      files.move(to)
      saver = createPositionsFile(to.positions)
    },
    remove() {
      close()
      files.remove()
    },
    close,
  }
}
