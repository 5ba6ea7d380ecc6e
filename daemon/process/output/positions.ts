import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { createRuns, runBytes, type Runs } from './runs.ts'
import { takeOrOpen, type FilePool } from './file-pool.ts'

const magic = 0x68637031
const headerBytes = 128
/** A larger file is not the daemon's. */
const maxBytes = 64 * 1024 * 1024

/**
 * Where the capture of one process stands. Offsets are absolute and never shrink; pairs are [stdout, stderr].
 * `seen`: bytes looked at; `rendered`: bytes whose lines are in the combined log; `heads`: first byte that is still on disk,
 * of stdout, stderr and the combined log. `origins`: where in its stream each file begins, above 0 once it was truncated.
 */
export interface Positions {
  readonly seen: [number, number]
  readonly rendered: [number, number]
  readonly heads: [number, number, number]
  readonly origins: [number, number]
  combined: number
  /** Stream whose unfinished line ends the combined log, or -1. */
  openLine: -1 | 0 | 1
  runs: Runs
}

export const freshPositions = (): Positions => ({
  seen: [0, 0],
  rendered: [0, 0],
  heads: [0, 0, 0],
  origins: [0, 0],
  combined: 0,
  openLine: -1,
  runs: createRuns(),
})

const fieldsOf = (p: Positions): number[] => [
  ...p.seen,
  ...p.rendered,
  ...p.heads,
  p.combined,
  p.openLine,
  ...p.origins,
]

const originOf = (value: number, seen: number): number =>
  Number.isSafeInteger(value) && value >= 0 && value <= seen ? value : 0

/** Reads what `save` wrote; undefined when it is not that. */
const parsePositions = (bytes: Buffer): Positions | undefined => {
  if (bytes.length < headerBytes || bytes.readUInt32LE(0) !== magic) return undefined
  const count = bytes.readUInt32LE(4)
  const field = (index: number): number => bytes.readDoubleLE(8 + index * 8)
  const all = Array.from({ length: 8 }, (_, index) => field(index))
  if (!all.every(value => Number.isSafeInteger(value) && value >= 0)) return undefined
  const openLine = field(8)
  return {
    seen: [field(0), field(1)],
    rendered: [field(2), field(3)],
    heads: [field(4), field(5), field(6)],
    origins: [originOf(field(9), field(0)), originOf(field(10), field(1))],
    combined: field(7),
    openLine: openLine === 0 || openLine === 1 ? openLine : -1,
    runs: createRuns({ from: bytes.subarray(headerBytes, headerBytes + count * runBytes) }),
  }
}

/** Loads positions, or undefined when there are none (a process that has written nothing). */
export const loadPositions = (path: string): Positions | undefined => {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    // Nothing was ever saved, or the directory is new.
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > maxBytes) return undefined
    const bytes = Buffer.alloc(stat.size)
    const length = readSync(fd, bytes, 0, bytes.length, 0)
    return parsePositions(bytes.subarray(0, length))
  } finally {
    closeSync(fd)
  }
}

export interface PositionsFile {
  save(positions: Positions): void
  close(): void
}

/**
 * Writes positions so that a daemon that is killed between any two system calls leaves a state that was once true:
 * the closed runs first, then the header and the open run, each with one write.
 */
export const createPositionsFile = (path: string, pool?: FilePool): PositionsFile => {
  let fd: number | undefined
  let savedRuns = 0
  let savedBase = -1
  return {
    save(p: Positions): void {
      const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants
      fd ??= takeOrOpen(pool, path, () => openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600))
      const { runs } = p
      // After the older half was forgotten everything moves; otherwise only the open run and later ones are new.
      const from = savedBase === runs.base ? Math.max(0, savedRuns - 1) : 0
      const fresh = runs.encode(from)
      const header = Buffer.alloc(headerBytes)
      header.writeUInt32LE(magic, 0)
      header.writeUInt32LE(runs.count, 4)
      for (const [index, value] of fieldsOf(p).entries()) header.writeDoubleLE(value, 8 + index * 8)
      if (fresh.length > 0) writeSync(fd, fresh, 0, fresh.length, headerBytes + from * runBytes)
      writeSync(fd, header, 0, headerBytes, 0)
      savedRuns = runs.count
      savedBase = runs.base
    },
    close(): void {
      if (fd !== undefined) closeSync(fd)
      fd = undefined
      savedBase = -1
    },
  }
}
