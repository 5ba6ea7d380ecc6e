/** A workload's answer as it comes, written on to the client. */
import { isMovable, move, worthBytes } from '../../../../base/relay/move.ts'
import type { AnswerHead } from '../../../../core/channel/answer-head.ts'
import { answered, spoiled, type State } from './answer-state.ts'
import { newChunks, readChunks, type Chunks } from '../../../../core/channel/chunks.ts'
import { takeHead } from '../../../../core/channel/take-head.ts'
import * as client from './client-side.ts'

const bodyInChunks = (state: State, chunks: Chunks, bytes: Buffer): void => {
  const pieces: Buffer[] = []
  const read = readChunks(chunks, bytes, piece => void pieces.push(piece))
  client.write(state.side, pieces)
  if (chunks.at === 'over') answered(state, read === bytes.length)
}

/** Has the kernel move the rest of a long body; false where it cannot. */
const moveRest = (state: State): boolean => {
  const { far, side, left } = state
  const { socket } = side.turn.request
  if (left < worthBytes || !isMovable(far.socket, socket)) return false
  client.flush(side)
  state.stopMoving = move(far.socket, socket, left, ({ isWhole, hasMore }) => {
    state.stopMoving = undefined
    if (isWhole) answered(state, !hasMore)
    else spoiled(state, new Error('its answer ended before its length'))
  })
  return true
}

/** Bytes of the body. */
export const body = (state: State, bytes: Buffer): void => {
  const { chunks, side, far, answer } = state
  if (chunks) bodyInChunks(state, chunks, bytes)
  else if (answer?.framing === 'close') client.write(side, [bytes])
  else {
    const isLast = bytes.length >= state.left
    const piece = bytes.length > state.left ? bytes.subarray(0, state.left) : bytes
    const isClean = bytes.length === piece.length
    state.left -= piece.length
    if (piece.length > 0) client.write(side, [piece])
    if (isLast) return answered(state, isClean)
    if (moveRest(state)) return
  }
  if (!state.isOver && !side.takesMore) far.socket.pause()
}

const begin = (state: State, answer: AnswerHead, rest: Buffer): void => {
  const { status, reason, framing } = answer
  const headers = state.headersOf(answer)
  state.answer = answer
  client.begin(state.side, { status, reason, headers, framing })
  if (framing === 'none') return answered(state, rest.length === 0)
  if (framing === 'chunks') state.chunks = newChunks()
  else if (framing !== 'close') state.left = framing.bytes
  if (rest.length > 0 || state.left === 0) body(state, rest)
  if (!state.isOver) client.flush(state.side)
}

/** Bytes of the head, and what follows it. Throws an Error for what is no answer. */
export const head = (state: State, bytes: Buffer): void => {
  const taken = takeHead(state, bytes, state.side.turn.request.method ?? 'GET')
  if (taken) begin(state, taken.answer, taken.rest)
}
