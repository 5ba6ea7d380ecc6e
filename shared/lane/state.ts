/** What is known of a connection and of the request that is under way on it. */
import type { Socket } from 'node:net'
import type { Fields, Head } from './head.ts'
import type { Mover } from './mover.ts'
import type { AnswerHeader, BodySink, Turn } from './turn.ts'

export interface LaneHandlers {
  /** False for a request that goes the way of all others. */
  take(turn: Turn): boolean
  /** Whether a request may be read here; everything is unless given. One that may not takes its connection to the other reader. */
  readonly admits?: ((head: Head) => boolean) | undefined
  /** The way of all others. */
  pass(head: Head, turn: Turn): void
  /** The connection is for another reader, with these bytes first. */
  handOver(socket: Socket, bytes: Buffer): void
  /** Whether connections are kept after an answer. */
  readonly keeps: () => boolean
  readonly maxHeadBytes: number
  /** A head in more pieces is looked at by the other reader, which does not begin anew with each. */
  readonly maxHeadPieces: number
  readonly always?: AnswerHeader | undefined
  /** Long bodies go by it; without one they are read. */
  readonly mover?: Mover | undefined
}

/** A connection. */
export interface State extends LaneHandlers {
  readonly socket: Socket
  /** Bytes that nobody has taken. */
  held: Buffer
  pieces: number
  fields: Fields | undefined
  turn: Open | undefined
  ticks: number
  hasAsked: boolean
  /** The next request, when its head is there. */
  readonly next: () => void
  /** It reads on its own account no more. */
  isLeft: boolean
}

/** A turn with what only its connection touches. */
export interface Open extends Turn {
  isTaken: boolean
  left: number
  sink: BodySink | undefined
  isOver: boolean
  overs: (() => void)[]
  drained: (() => void) | undefined
  /** Ends the moving of its body, while that is under way. */
  stopMoving: (() => void) | undefined
  isDone: boolean
}
