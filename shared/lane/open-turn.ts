/** The turn of one request, and what its connection does for it: the body as it is wanted, and what follows the answer. */
import type { Head } from './head.ts'
import type { Open, State } from './state.ts'
import type { Asked, BodySink } from './turn.ts'

const none = Buffer.alloc(0)
/** Beyond it the client waits. */
const maxHeldBytes = 64 * 1024

const discard: BodySink = { piece: () => true, end: () => {} }

/** The answer is out, or the connection gone. */
export const over = (turn: Open): void => {
  if (turn.isOver) return
  turn.isOver = true
  turn.stopMoving?.()
  for (const run of turn.overs) run()
}

/** Gives the sink what there is of the body; false when it wants no more now. */
const deliver = (state: State, turn: Open): boolean => {
  const { sink } = turn
  if (!sink || turn.left === 0) return true
  if (state.held.length === 0) return true
  const piece = turn.left < state.held.length ? state.held.subarray(0, turn.left) : state.held
  state.held = piece.length === state.held.length ? none : state.held.subarray(piece.length)
  turn.left -= piece.length
  const more = sink.piece(piece)
  if (turn.left === 0) sink.end()
  return more || turn.left === 0
}

/** Has the kernel move the rest of a long body; false where it cannot, or not yet. */
const moveRest = (state: State, turn: Open): boolean => {
  const { socket, mover } = state
  const to = turn.sink?.to
  if (!mover || !to || turn.left < mover.worthBytes || state.held.length > 0 || !mover.isMovable(socket, to))
    return false
  turn.stopMoving = mover.move(socket, to, turn.left, ({ isWhole, left, isSourceGone }) => {
    turn.stopMoving = undefined
    turn.left = left
    if (isWhole) turn.sink?.end()
    // As node does it: who sends no more does not wait for an answer either.
    else if (isSourceGone) socket.destroy()
    else {
      // What it has got is not what was sent.
      to.destroy()
      turn.sink = discard
    }
    settle(state)
  })
  return true
}

/** Looks at what there is, and reads on or does not. */
export const settle = (state: State): void => {
  const { turn, socket } = state
  if (state.isLeft || socket.destroyed || turn?.stopMoving) return
  if (turn && !deliver(state, turn)) return void socket.pause()
  if (turn && !turn.isDone && moveRest(state, turn)) return
  if (turn?.isDone && turn.left === 0) {
    state.turn = undefined
    state.ticks = 0
    return state.next()
  }
  if (state.held.length > maxHeldBytes) socket.pause()
  else if (socket.isPaused()) socket.resume()
}

const finish = (state: State, turn: Open, keep: boolean): void => {
  if (turn.isDone || state.turn !== turn) return
  turn.isDone = true
  over(turn)
  if (!keep || !state.keeps()) {
    state.isLeft = true
    // What still comes is thrown away: a connection that is closed on unread bytes is reset, and the answer lost with it.
    state.socket.resume()
    state.socket.destroySoon()
    return
  }
  turn.sink ??= discard
  settle(state)
}

const requestOf = ({ socket }: State, { method, url, fields }: Head): Asked => ({
  method,
  url,
  headers: fields.headers,
  rawHeaders: fields.raw as string[],
  socket,
})

export const turnOf = (state: State, head: Head): Open => {
  const { length, keepAlive, expects } = head.fields
  const turn: Open = {
    request: requestOf(state, head),
    always: state.always,
    length,
    expects,
    keepAlive,
    left: length,
    sink: undefined,
    isTaken: false,
    isOver: false,
    overs: [],
    drained: undefined,
    stopMoving: undefined,
    isDone: false,
    takeWhole(maxBytes) {
      if (length > maxBytes || turn.left !== length || state.held.length < length) return undefined
      turn.isTaken = true
      const whole = state.held.subarray(0, length)
      state.held = state.held.length === length ? none : state.held.subarray(length)
      turn.left = 0
      return whole
    },
    readBody(sink) {
      turn.isTaken = true
      turn.sink = sink
      if (turn.left === 0) return sink.end()
      settle(state)
    },
    resume: () => settle(state),
    onOver(run) {
      if (turn.isOver) run()
      else turn.overs.push(run)
    },
    onDrain(run) {
      turn.drained = run
    },
    cut: () => void state.socket.destroy(),
    done: keep => finish(state, turn, keep && keepAlive),
    pass() {
      // An answer on a connection that is gone would never be over, nor give back what it holds.
      if (!turn.isOver) state.pass(head, turn)
    },
  }
  return turn
}
