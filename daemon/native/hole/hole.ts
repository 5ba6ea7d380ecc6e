/** Punches large holes into files on a thread of its own, so that the main thread does not wait. */
import { check, lazy, loadAddon } from '../load.ts'

interface HoleAddon {
  start_punch(fd: number, length: number): number
  poll_punch(job: number): number
}

const addon = lazy(() => loadAddon<HoleAddon>('hole'))
const EAGAIN = 11

/**
 * True while the work goes on, false when it is done; throws when it failed. Must not be called again after false or an
 * error.
 */
export type Hole = () => boolean

/**
 * Begins to give the first `length` bytes of a file back to the disk; the caller may close the descriptor meanwhile.
 * Undefined when too many such jobs run, or no thread can be started: try again later.
 */
export const punchHoleInBackground = (fd: number, length: number): Hole | undefined => {
  const job = addon().start_punch(fd, length)
  if (job === -EAGAIN) return undefined
  check('fallocate', job)
  return () => check('fallocate', addon().poll_punch(job)) === 1
}
