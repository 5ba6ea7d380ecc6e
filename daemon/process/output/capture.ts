import { closeSync, constants, fstatSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { errno } from '../../../shared/errors.ts'
import { punchHole } from '../../native/sys.ts'
import { maxLineBytes, newline, truncatedLine, type StreamIndex } from './lines.ts'
import type { OutputPaths } from './names.ts'
import { freshPositions, loadPositions, positionsFile, type Positions } from './positions.ts'
import { breakLine, render, renderLine, type Scratch } from './render.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TRUNC } = constants
const pageBytes = 4096
const streams: readonly StreamIndex[] = [0, 1]

/** Bytes of one stream taken in one go, so that a flood leaves room for everything else. */
export const sliceBytes = 1024 * 1024

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
  /** Gives the head of every file beyond `share` bytes back to the disk. */
  cap(share: number): void
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

interface Files {
  readonly streams: readonly [number, number]
  combined: number | undefined
}

const openOwn = (path: string, flags: number): number => {
  const fd = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o644)
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw Object.assign(new Error(`${path} is no regular file`), { code: 'ENOENT' })
}

/** A new file in place of whatever has the name: nobody we know of owns it any more. */
const openNew = (path: string): number => {
  const flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL
  try {
    return openOwn(path, flags)
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error
    rmSync(path)
    return openOwn(path, flags)
  }
}

/** Opens the capture of a run: `fresh` makes new files, else it goes on where it stood. */
export const openCapture = (options: {
  paths: OutputPaths
  fresh: boolean
  ended: boolean
  scratch: Scratch
}): Capture => {
  const { scratch, fresh } = options
  let { paths } = options
  const positions = (fresh ? undefined : loadPositions(paths.positions)) ?? freshPositions()
  let saver = positionsFile(paths.positions)
  let isNew = fresh
  const listeners = new Set<() => void>()
  let files: Files | undefined
  let ended = options.ended
  let holders = 0
  let behind = false

  const open = (): Files => {
    if (files) return files
    const one = (path: string): number =>
      isNew ? openNew(path) : openOwn(path, ended ? O_RDWR : O_RDWR | O_APPEND | O_CREAT)
    const first = one(paths.streams[0])
    try {
      files = { streams: [first, one(paths.streams[1])], combined: undefined }
    } catch (error) {
      closeSync(first)
      throw error
    }
    return files
  }
  const combined = (): number => {
    const own = open()
    if (own.combined !== undefined) return own.combined
    own.combined = openOwn(paths.combined, O_RDWR | (ended ? 0 : O_CREAT) | (positions.combined === 0 ? O_TRUNC : 0))
    return own.combined
  }
  const close = (): void => {
    saver.close()
    if (!files) return
    for (const fd of files.streams) closeSync(fd)
    if (files.combined !== undefined) closeSync(files.combined)
    files = undefined
  }
  if (fresh) open()
  isNew = false
  /** Files of a finished run may be gone or replaced by links: the tenant can do that. Then there is nothing to read. */
  const ifThere = <T>(run: () => T, otherwise: T): T => {
    try {
      return run()
    } catch (error) {
      if (ended && ['ENOENT', 'ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR'].includes(errno(error) ?? '')) return otherwise
      throw error
    }
  }

  const tell = (): void => {
    for (const run of listeners) run()
  }
  const renderTo = (stream: StreamIndex, to: number): void =>
    render({ stream: open().streams[stream], combined: combined() }, positions, stream, to, scratch)

  /** Bytes that left the disk before they were looked at: said in the combined log, never hidden. */
  const skip = (stream: StreamIndex, to: number): void => {
    const { seen, rendered } = positions
    renderLine(combined(), positions, stream, truncatedLine(to - rendered[stream]))
    if (to > seen[stream]) {
      positions.runs.add(stream, seen[stream], to - seen[stream])
      seen[stream] = to
    }
    rendered[stream] = to
  }

  const advance = (stream: StreamIndex, budget: number): number => {
    const { seen, rendered } = positions
    const { source } = scratch
    const fd = open().streams[stream]
    let taken = 0
    while (taken < budget) {
      const length = readSync(fd, source, 0, source.length, seen[stream])
      if (length === 0) break
      const last = source.subarray(0, length).lastIndexOf(newline)
      positions.runs.add(stream, seen[stream], length)
      const line = seen[stream] + last + 1
      seen[stream] += length
      taken += length
      if (last >= 0) renderTo(stream, line)
      while (seen[stream] - rendered[stream] >= maxLineBytes) {
        renderTo(stream, rendered[stream] + maxLineBytes)
        breakLine(combined(), positions)
      }
      if (length < source.length) break
    }
    return taken
  }

  const poll = (budget = sliceBytes): boolean => {
    // stdout first: when both have grown since the last look, this is the order, whoever asks.
    let taken = 0
    behind = false
    for (const stream of streams) {
      const advanced = advance(stream, budget)
      taken += advanced
      behind ||= advanced >= budget
    }
    if (taken === 0) return false
    saver.save(positions)
    tell()
    return true
  }
  /** As far as the files reach now: what outlives the process may write for ever. */
  const drain = (): void => {
    const own = ifThere(open, undefined)
    if (!own) return
    const ends = own.streams.map(fd => fstatSync(fd).size)
    for (const stream of streams) {
      const left = (): number => (ends[stream] as number) - positions.seen[stream]
      while (left() > 0 && advance(stream, left()) > 0);
    }
  }

  const capOne = (fd: number, part: 0 | 1 | 2, share: number): boolean => {
    const head = positions.heads[part]
    const size = part === 2 ? positions.combined : fstatSync(fd).size
    if (size - head <= share + share / 8) return false
    const next = Math.floor((size - share) / pageBytes) * pageBytes
    if (next <= head) return false
    if (part !== 2 && next > positions.rendered[part]) skip(part, next)
    punchHole(fd, 0, next)
    positions.heads[part] = next
    return true
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
      return open().streams
    },
    poll: () => poll(),
    drain() {
      const { seen } = positions
      const before = seen[0] + seen[1]
      drain()
      if (seen[0] + seen[1] === before) return
      saver.save(positions)
      tell()
    },
    end() {
      try {
        drain()
        for (const stream of streams)
          if (positions.rendered[stream] < positions.seen[stream]) renderTo(stream, positions.seen[stream])
        if (positions.seen[0] + positions.seen[1] > 0) saver.save(positions)
      } finally {
        ended = true
        tell()
        if (holders === 0) close()
      }
    },
    note(text) {
      writeSync(open().streams[0], text)
    },
    cap(share) {
      if (share === Number.POSITIVE_INFINITY) return
      const opened = files !== undefined
      const own = ifThere(open, undefined)
      if (!own) return
      let changed = false
      for (const stream of streams) changed = capOne(own.streams[stream], stream, share) || changed
      if (positions.combined > 0) changed = capOne(combined(), 2, share) || changed
      if (changed) saver.save(positions)
      if (changed && !ended) tell()
      if (!opened && holders === 0) close()
    },
    retained() {
      const { seen, heads } = positions
      return seen[0] - heads[0] + (seen[1] - heads[1]) + (positions.combined - heads[2])
    },
    read(part, target, offset) {
      const end = part === 2 ? positions.combined : positions.seen[part]
      const wanted = Math.min(target.length, end - offset)
      if (wanted <= 0) return 0
      const opened = files !== undefined
      const length = ifThere(
        () => readSync(part === 2 ? combined() : open().streams[part], target, 0, wanted, offset),
        0,
      )
      if (ended && !opened && holders === 0) close()
      return length
    },
    onChange(run) {
      listeners.add(run)
      return () => void listeners.delete(run)
    },
    hold() {
      ifThere(open, undefined)
      holders++
      let held = true
      return () => {
        if (!held) return
        held = false
        holders--
        if (holders === 0 && ended) close()
      }
    },
    move(next) {
      saver.close()
      const moves = [
        [paths.streams[0], next.streams[0]],
        [paths.streams[1], next.streams[1]],
        [paths.combined, next.combined],
        [paths.positions, next.positions],
      ] as const
      for (const [from, to] of moves) {
        try {
          renameSync(from, to)
        } catch (error) {
          // A silent process has no combined log and no positions.
          if (errno(error) !== 'ENOENT') throw error
        }
      }
      paths = next
      saver = positionsFile(paths.positions)
    },
    remove() {
      close()
      for (const path of [...paths.streams, paths.combined, paths.positions]) rmSync(path, { force: true })
    },
    close,
  }
}
