import { readSync, writeSync } from 'node:fs'
import { isGone, createOutputFiles, type OutputFiles } from './files.ts'
import type { OutputPaths } from './names.ts'
import { createPositionsFile, freshPositions, loadPositions, type Positions, type PositionsFile } from './positions.ts'
import type { Scratch } from './render.ts'
import type { OutputFilePools } from './file-pool.ts'
import { advance, capPart, drain, flushLines, streams, type CaptureState } from './capture-steps.ts'

/** Bytes of one stream captured in one step, so that a flood of output leaves time for everything else. */
export const sliceBytes = 1024 * 1024
/** The same while more is thrown away than captured: then short steps matter most. */
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
  /** Somebody reads. */
  readonly isHeld: boolean
  /** Renames the files; whoever reads goes on reading. */
  move(paths: OutputPaths): void
  /** Removes the files. */
  remove(): void
  close(): void
}

interface CaptureOptions {
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
    isHeld: () => holders > 0,
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

/** An open capture: what its verbs work on. */
interface CaptureContext extends CaptureState {
  saver: PositionsFile
  ended: boolean
  behind: boolean
  /** The last cap came while output was waiting to be captured. */
  flooded: boolean
  readonly listeners: ReturnType<typeof createListeners>
  readonly closeIfIdle: () => void
}

const captured = ({ positions: { seen } }: CaptureState): number => seen[0] + seen[1]

/** Saves the positions and tells the listeners, when more was captured than `before`. */
const publishGrowth = (context: CaptureContext, before: number): boolean => {
  if (captured(context) === before) return false
  context.saver.save(context.positions)
  context.listeners.tell()
  return true
}

const poll = (context: CaptureContext): boolean => {
  const before = captured(context)
  const budget = context.flooded ? floodedSliceBytes : sliceBytes
  context.behind = context.flooded = false
  for (const stream of streams) context.behind = advance(context, stream, budget) >= budget || context.behind
  return publishGrowth(context, before)
}

const end = (context: CaptureContext): void => {
  try {
    drain(context)
    flushLines(context)
    if (captured(context) > 0) context.saver.save(context.positions)
  } finally {
    context.ended = true
    context.listeners.tell()
    context.closeIfIdle()
  }
}

const cap = (context: CaptureContext, share: number, inBackground: boolean): void => {
  const { positions } = context
  const parts = positions.combined > 0 ? ([0, 1, 2] as const) : ([0, 1] as const)
  let changed = false
  for (const part of parts) changed = capPart(context, part, share, inBackground) || changed
  if (!changed) return
  context.flooded = context.behind
  context.saver.save(positions)
  if (!context.ended) context.listeners.tell()
}

const retained = (context: CaptureState): number => {
  const { heads, combined } = context.positions
  return captured(context) - heads[0] - heads[1] + combined - heads[2]
}

const close = ({ saver, files }: CaptureContext): void => {
  saver.close()
  files.close()
}

const move = (context: CaptureContext, to: OutputPaths): void => {
  context.saver.close()
  context.files.move(to)
  context.saver = createPositionsFile(to.positions)
}

/** Opens the capture of a run. */
export const openCapture = (options: CaptureOptions): Capture => {
  const { paths, fresh, ended, scratch, pools, group } = options
  const positions = (fresh ? undefined : loadPositions(paths.positions)) ?? freshPositions()
  const combinedIsEmpty = (): boolean => positions.combined === 0
  const files = createOutputFiles({ paths, fresh, mayMake: () => !context.ended, combinedIsEmpty, pools, group })
  const { hold, isHeld, visit, closeIfIdle } = createHolders(
    files,
    () => close(context),
    () => context.ended,
  )
  const context: CaptureContext = {
    files,
    positions,
    scratch,
    holes: [],
    saver: createPositionsFile(paths.positions, pools?.positions),
    ended,
    behind: false,
    flooded: false,
    listeners: createListeners(),
    closeIfIdle,
  }
  return {
    positions,
    get ended() {
      return context.ended
    },
    get behind() {
      return context.behind
    },
    get childDescriptors() {
      return files.streams()
    },
    poll: () => poll(context),
    drain() {
      const before = captured(context)
      visit(() => drain(context), undefined)
      publishGrowth(context, before)
    },
    end: () => end(context),
    note: text => void writeSync(files.streams()[0], text),
    cap: (share, inBackground = false) =>
      share === Number.POSITIVE_INFINITY ? undefined : visit(() => cap(context, share, inBackground), undefined),
    retained: () => retained(context),
    read: (part, target, offset) => visit(() => readPart(context, part, target, offset), 0),
    onChange: context.listeners.add,
    hold,
    get isHeld() {
      return isHeld()
    },
    move: to => move(context, to),
    remove() {
      close(context)
      files.remove()
    },
    close: () => close(context),
  }
}
