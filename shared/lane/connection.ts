/** A connection of HTTP/1.1: one request after the other, each answered before the next is looked at. */
import type { Socket } from 'node:net'
import { readHead } from './head.ts'
import { over, settle, turnOf } from './open-turn.ts'
import type { LaneHandlers, State } from './state.ts'

export interface Connection {
  /** It has been answered, and nothing of another request has come. */
  isIdle(): boolean
  /** The time since the last answer is over, or that for a head: `limit` in calls of this. */
  tick(limits: { readonly head: number; readonly idle: number }): void
  destroy(): void
}

const none = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')
const leave = (state: State, bytes: Buffer): void => {
  state.isLeft = true
  state.held = none
  state.handOver(state.socket, bytes)
}

/** The next request, when its head is there. */
const begin = (state: State): void => {
  const { held, maxHeadBytes, maxHeadPieces } = state
  if (held.length === 0) return void (state.socket.isPaused() && state.socket.resume())
  const end = held.indexOf(headEnd)
  if (end < 0) {
    if (held.length > maxHeadBytes || ++state.pieces >= maxHeadPieces) leave(state, held)
    // Requests that came together with the last one may have been too many to read on.
    else if (state.socket.isPaused()) state.socket.resume()
    return
  }
  const head = end > maxHeadBytes ? undefined : readHead(held.toString('latin1', 0, end), state.fields)
  if (!head || state.admits?.(head) === false) return leave(state, held)
  state.fields = head.fields
  state.hasAsked = true
  state.pieces = 0
  const after = end + headEnd.length
  state.held = held.length === after ? none : held.subarray(after)
  const turn = turnOf(state, head)
  state.turn = turn
  if (!state.take(turn)) state.pass(head, turn)
}

/** A packet holds thousands of requests, and an answer need not wait for anything: others are served in between. */
const beginLater = (state: State): void => {
  // What came meanwhile may have begun it.
  if (!state.turn && !state.isLeft && !state.socket.destroyed) begin(state)
}

const listenTo = (state: State, closed: () => void): (() => void) => {
  const { socket } = state
  const data = (piece: Buffer): void => {
    // Thrown away: the last answer has said that the connection ends.
    if (state.isLeft) return
    if (state.held.length > 0) state.held = Buffer.concat([state.held, piece])
    else {
      state.held = piece
      state.ticks = 0
    }
    if (state.turn) settle(state)
    else begin(state)
  }
  // As node does it: who sends no more does not wait for an answer either.
  const end = (): void => void socket.destroy()
  const close = (): void => {
    if (state.turn) over(state.turn)
    closed()
  }
  const drain = (): void => state.turn?.drained?.()
  const failed = (): void => void socket.destroy()
  socket.on('data', data).on('end', end).on('close', close).on('drain', drain).on('error', failed)
  return () => socket.off('data', data).off('end', end).off('close', close).off('drain', drain).off('error', failed)
}

/** Reads from `socket` until another reader has to; `left` is called when it is this connection's no more. */
export const serveConnection = (socket: Socket, handlers: LaneHandlers, left: () => void): Connection => {
  const state: State = {
    ...handlers,
    handOver(to, bytes) {
      stop()
      left()
      handlers.handOver(to, bytes)
    },
    socket,
    held: none,
    pieces: 0,
    fields: undefined,
    turn: undefined,
    ticks: 0,
    hasAsked: false,
    next: () => void (state.held.length === 0 ? begin(state) : setImmediate(beginLater, state)),
    isLeft: false,
  }
  const stop = listenTo(state, left)
  return {
    // As with node's: who has only just come is about to ask.
    isIdle: () => state.hasAsked && !state.turn && state.held.length === 0,
    tick({ head, idle }) {
      if (state.turn && !state.turn.isDone) return
      const limit = state.held.length > 0 || !state.hasAsked ? head : idle
      if (++state.ticks > limit) socket.destroy()
    },
    destroy: () => void socket.destroy(),
  }
}
