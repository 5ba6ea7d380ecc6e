/** Whether the disk that takes the output of processes is full. A process whose writes fail may end with exit code 0 all the same. */
import { closeSync, constants, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isFull } from '../../../shared/system-reason.ts'

export interface Room {
  /** No output could be written now. */
  isGone(): boolean
}

/** With more than this free nothing is tried: file systems keep some blocks for themselves, and say that they are free. */
const amplyFree = 1024 * 1024
/** A block for each stream. */
const probe = Buffer.alloc(2 * 4096)

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants

const tryToWrite = (path: string): void => {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    for (let at = 0; at < probe.length; ) at += writeSync(fd, probe, at)
  } finally {
    closeSync(fd)
    rmSync(path, { force: true })
  }
}

/** `dir` is the daemon's own, on the same disk as the output. */
export const createRoom = (dir: string): Room => ({
  isGone() {
    try {
      const { bavail, bsize } = statfsSync(dir)
      if (bavail * bsize < amplyFree) tryToWrite(join(dir, 'room'))
      return false
    } catch (error) {
      // Any other failure says nothing about room; whoever writes meets it.
      return isFull(error)
    }
  },
})

/** What answers say where output may be missing. */
export const lostLine = '[The disk was full while this process ran: output may be missing]\n'
