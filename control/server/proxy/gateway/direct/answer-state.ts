/** How far a workload's answer has come, and how it ends. */
import type { Far } from '../../../../core/channel/places.ts'
import type { AnswerHead } from '../../../../core/channel/answer-head.ts'
import type { Chunks } from '../../../../core/channel/chunks.ts'
import type { Seen } from '../../../../core/channel/take-head.ts'
import * as client from './client-side.ts'
import type { ClientSide } from './client-side.ts'

export interface Asking {
  readonly far: Far
  readonly side: ClientSide
  /** The head of the request as the workload gets it. */
  readonly head: string
  /** The body where it is there already; it can be sent twice. */
  readonly body: Buffer | undefined
  /** The answer's headers as the client gets them. */
  readonly headersOf: (head: AnswerHead) => readonly string[]
  /** Told once how it ended, by whatever brought that about: it must not throw. */
  readonly settle: (ending: Ending) => void
}

/** How it ended. `failed`: nothing of an answer has come, and why. */
export type Ending =
  | { readonly how: 'answered'; readonly restMs: number }
  | { readonly how: 'cut' }
  | { readonly how: 'failed'; readonly error: unknown }

export interface State extends Asking, Seen {
  answer: AnswerHead | undefined
  /** Bytes of the body that are to come, where it has a length. */
  left: number
  chunks: Chunks | undefined
  /** Ends the moving of the body, while that is under way. */
  stopMoving: (() => void) | undefined
  /** All of the request is written. */
  isSent: boolean
  isOver: boolean
}

/** Says once how it ended. */
export const finish = (state: State, ending: Ending): void => {
  if (state.isOver) return
  state.isOver = true
  state.stopMoving?.()
  state.far.on = undefined
  state.settle(ending)
}

/** The answer is whole. */
export const answered = (state: State, isClean: boolean): void => {
  const { side, answer, isSent } = state
  client.end(side)
  finish(state, { how: 'answered', restMs: isClean && isSent ? (answer?.restMs ?? 0) : 0 })
}

/** Nothing of it may be believed any more. */
export const spoiled = (state: State, error: unknown): void => {
  state.far.socket.destroy()
  finish(state, state.side.hasBegun ? { how: 'cut' } : { how: 'failed', error })
}
