/** Who has the kernel move bytes from one connection to another, where there is such a one. */
import type { Socket } from 'node:net'

/** How it ended. */
export interface Moved {
  /** All of them are with the other side's kernel. */
  readonly isWhole: boolean
  /** Bytes that `from` has still to give. */
  readonly left: number
  /** `from` is gone, or sends no more. */
  readonly isSourceGone: boolean
}

export interface Mover {
  /** Fewer are not worth it. */
  readonly worthBytes: number
  isMovable(from: Socket, to: Socket): boolean
  /** Calls `moved` once, never before it returns; what it returns ends it. Neither socket is closed. */
  move(from: Socket, to: Socket, bytes: number, moved: (result: Moved) => void): () => void
}
