/** A file of lines that the daemon appends to, and writes anew when most of them are of yesterday. */
import { closeSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Log } from '../../shared/log.ts'
import { isFull } from '../../shared/system-reason.ts'
import { makeFile, makePrivateDirectory, openOwnFile, putInPlace } from '../own-files/own-files.ts'

export interface AppendingFile {
  /** Writes it anew with these lines; before that, and after `close`, nothing is written. */
  open(lines: readonly string[]): void
  append(line: string): void
  close(): void
}

const slack = 1_000

/** A new file in place of the one at `path`, which stays when that cannot be written. */
const replaceAll = (path: string, lines: readonly string[]): number => {
  makePrivateDirectory(dirname(path))
  const next = `${path}.new`
  const fd = makeFile(next, 0o600)
  try {
    writeFileSync(fd, lines.join(''))
    putInPlace(next, path)
  } catch (error) {
    closeSync(fd)
    rmSync(next, { force: true })
    throw error
  }
  return fd
}

/**
 * `live` are the lines that count by now, a later one for the same thing instead of an earlier. A disk that is full keeps neither the
 * daemon nor processes from being started and stopped: what is in the file stays, and is added to when there is room again.
 */
export const appendingFile = (path: string, live: () => readonly string[], log: Log): AppendingFile => {
  let isOpen = false
  let fd: number | undefined
  let lines = 0
  let rewriteAt = 0
  /** The last line may be half of one. */
  let isTorn = false
  const rewrite = (all: readonly string[]): void => {
    try {
      const made = replaceAll(path, all)
      if (fd !== undefined) closeSync(fd)
      ;[fd, lines, isTorn] = [made, all.length, false]
    } catch (error) {
      if (!isFull(error)) throw error
      log.error('process.journal.failed', { error })
      ;[fd, isTorn] = [fd ?? openOwnFile(path), true]
    }
    // At twice the size: then the cost of rewriting is spread over as many changes.
    rewriteAt = 2 * lines + slack
  }
  const add = (to: number, line: string): void => {
    try {
      writeFileSync(to, isTorn ? `\n${line}` : line)
      isTorn = false
    } catch (error) {
      isTorn = true
      log.error('process.journal.failed', { error })
    }
  }
  return {
    open(all) {
      isOpen = true
      rewrite(all)
    },
    append(line) {
      if (!isOpen) return
      // On a full disk there was none to go on with.
      if (fd === undefined) rewrite(live())
      if (fd === undefined) return
      add(fd, line)
      if (++lines > rewriteAt) rewrite(live())
    },
    close() {
      isOpen = false
      if (fd !== undefined) closeSync(fd)
      fd = undefined
    },
  }
}
