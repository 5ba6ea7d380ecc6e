/** The head of a workload's answer as it comes, which may be byte by byte: nothing is copied with every one of them. */
import { readAnswerHead, type AnswerHead } from './answer-head.ts'

/** Of an answer's head. */
const maxHeadBytes = 64 * 1024
const headEnd = Buffer.from('\r\n\r\n')

export const none = Buffer.alloc(0)

export interface Seen {
  /** Of a head that is not whole. */
  seen: Buffer
  /** What `seen` is the beginning of, with room for more; empty where it has none of its own. */
  room: Buffer
}

/** Throws for what is no answer, however it goes on. */
const needStart = (seen: Buffer): void => {
  const start = 'HTTP/1.'
  if (!start.startsWith(seen.toString('latin1', 0, start.length))) throw new Error('its answer is no HTTP')
}

/** Puts bytes behind those that were seen. */
const add = (state: Seen, bytes: Buffer): void => {
  const { seen } = state
  const length = seen.length + bytes.length
  if (seen.length === 0) {
    state.seen = bytes
    return
  }
  if (length > state.room.length) {
    state.room = Buffer.allocUnsafe(2 * length)
    seen.copy(state.room)
  }
  bytes.copy(state.room, seen.length)
  state.seen = state.room.subarray(0, length)
}

export interface Taken {
  readonly answer: AnswerHead
  /** What came behind it. */
  readonly rest: Buffer
}

/**
 * Takes bytes of the head of an answer to `method`: the head once it is whole. Those that only announce another (1xx) are left out. Throws an
 * Error for what is no answer.
 */
export const takeHead = (state: Seen, bytes: Buffer, method: string): Taken | undefined => {
  // What was looked through before may hold the beginning of the end.
  let from = Math.max(0, state.seen.length - headEnd.length + 1)
  add(state, bytes)
  for (;;) {
    const { seen } = state
    const end = seen.indexOf(headEnd, from)
    if (end > maxHeadBytes || (end < 0 && seen.length > maxHeadBytes)) throw new Error('its head is too long')
    if (end < 0) {
      needStart(seen)
      return undefined
    }
    const answer = readAnswerHead(seen.toString('latin1', 0, end), method)
    const rest = seen.subarray(end + headEnd.length)
    state.seen = none
    state.room = none
    from = 0
    if (answer.status >= 200) return { answer, rest }
    state.seen = rest
  }
}
