/** A part of what one connection sends, moved on to another by the kernel. */
import type { Socket } from 'node:net'
import type { Moved as MovedWhole } from '../../../shared/lane/mover.ts'
import { addon, handleOf, link } from './addon.ts'
import { onceFlushed } from './once-flushed.ts'

/** Shorter ones cost less by way of this process: 1.2 times less at a few bytes, 2.3 times more from here (by turns, processor). */
export const worthBytes = 64 * 1024

export interface Moved extends MovedWhole {
  /** Bytes that follow what was moved were there when the last of it was. */
  readonly hasMore: boolean
}

/** Whether the kernel can move bytes between the two, and nothing of the first lies with node. */
export const isMovable = (from: Socket, to: Socket): boolean =>
  from.readableLength === 0 && !from.destroyed && handleOf(from) !== undefined && handleOf(to) !== undefined

/**
 * Moves `bytes` bytes that `from` has not given yet (`isMovable`) to `to`, after all that was written to it; `startRelay` was called
 * before. `moved` is called once, never before this returns: when all are moved, after a failure of either, or after what this returns was
 * called, which ends it. Node reads from `from` again by then; what was taken and not delivered is lost. Neither socket is closed.
 */
export const move = (from: Socket, to: Socket, bytes: number, moved: (result: Moved) => void): (() => void) => {
  const handle = handleOf(from)
  // The stream is not told that it rests: it would read on of its own accord.
  handle?.readStop()
  const settle = (delivered: number, left: number, isSourceGone: boolean, hasMore: boolean) => {
    if (!from.destroyed) handleOf(from)?.readStart()
    moved({ isWhole: delivered === bytes, left, isSourceGone, hasMore })
  }
  let isEnded = false
  let end = () => {
    isEnded = true
  }
  onceFlushed([to], () => {
    const [one, other] = [handleOf(from), handleOf(to)]
    const begun =
      one && other && !isEnded && !to.destroyed && link(id => addon().move(id, one.fd, other.fd, bytes), settle)
    if (begun) end = begun
    // Never before the caller has what ends it.
    else queueMicrotask(() => settle(0, bytes, false, false))
  })
  return () => end()
}
