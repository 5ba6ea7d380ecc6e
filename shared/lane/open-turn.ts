/** The turn of one request, and what its connection does for it: the body as it is wanted, and what follows the answer. */
import type { Head } from './head.ts'
import type { Open, State } from './state.ts'
import type { AnswerHeader, Asked, BodySink, Keeping } from './turn.ts'

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

/** A class, since closures that are made for each request are most of what a turn would cost. */
class OpenTurn implements Open {
  readonly request: Asked
  left: number
  sink: BodySink | undefined = undefined
  isTaken = false
  isOver = false
  readonly overs: (() => void)[] = []
  drained: (() => void) | undefined = undefined
  stopMoving: (() => void) | undefined = undefined
  isDone = false
  private readonly state: State
  private readonly head: Head

  constructor(state: State, head: Head) {
    this.state = state
    this.head = head
    this.request = requestOf(state, head)
    this.left = head.fields.length
  }

  get keeping(): Keeping {
    return this.head.fields
  }
  get always(): AnswerHeader | undefined {
    return this.state.always
  }
  get length(): number {
    return this.head.fields.length
  }
  get expects(): boolean {
    return this.head.fields.expects
  }
  get keepAlive(): boolean {
    return this.head.fields.keepAlive
  }
  takeWhole(maxBytes: number): Buffer | undefined {
    const { state, length } = this
    const { held } = state
    if (length > maxBytes || this.left !== length || held.length < length) return undefined
    this.isTaken = true
    this.left = 0
    if (length === 0) return none
    state.held = held.length === length ? none : held.subarray(length)
    return held.subarray(0, length)
  }
  peekWhole(maxBytes: number): Buffer | undefined {
    const { state, length } = this
    if (length > maxBytes || this.left !== length || state.held.length < length) return undefined
    return state.held.subarray(0, length)
  }
  readBody(sink: BodySink): void {
    this.isTaken = true
    this.sink = sink
    if (this.left === 0) return sink.end()
    settle(this.state)
  }
  resume(): void {
    settle(this.state)
  }
  onOver(run: () => void): void {
    if (this.isOver) run()
    else this.overs.push(run)
  }
  onDrain(run: () => void): void {
    this.drained = run
  }
  cut(): void {
    this.state.socket.destroy()
  }
  done(keep: boolean): void {
    finish(this.state, this, keep && this.keepAlive)
  }
  pass(): void {
    // An answer on a connection that is gone would never be over, nor give back what it holds.
    if (!this.isOver) this.state.pass(this.head, this)
  }
}

export const turnOf = (state: State, head: Head): Open => new OpenTurn(state, head)
