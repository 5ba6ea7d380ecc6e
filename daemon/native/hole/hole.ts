/** Holes so large that the main thread must not wait for them. */
import { check, lazy, loadAddon } from '../load.ts'

interface HoleAddon {
  punch_aside(fd: number, length: number): number
  ask(job: number): number
}

const addon = lazy(() => loadAddon<HoleAddon>('hole'))
const EAGAIN = 11

/** True while it goes on; throws when it failed. After false or an error it must not be asked again. */
export type Hole = () => boolean

/**
 * Begins to give the first `length` bytes of a file back to the disk; the descriptor may be closed meanwhile.
 * Undefined when too many are being made, or no thread is to be had: try later.
 */
export const punchHoleInBackground = (fd: number, length: number): Hole | undefined => {
  const job = addon().punch_aside(fd, length)
  if (job === -EAGAIN) return undefined
  check('fallocate', job)
  return () => check('fallocate', addon().ask(job)) === 1
}
