/** A request written to a workload and its answer written to the client, off one socket and onto the other. Back-pressure is kept both ways. */
import type { Far, FarEvents } from '../../../../core/channel/places.ts'
import { hasRoom, type ClientSide } from './client-side.ts'
import { answered, finish, spoiled, type Asking, type State } from './answer-state.ts'
import type { AnswerHead } from '../../../../core/channel/answer-head.ts'
import { body, head } from './answering.ts'
import type { Chunks } from '../../../../core/channel/chunks.ts'
import { none } from '../../../../core/channel/take-head.ts'

/** A class, since closures that are made for each request are most of what this would cost. */
class Exchange implements State, FarEvents {
  readonly far: Far
  readonly side: ClientSide
  readonly head: string
  readonly body: Buffer | undefined
  readonly headersOf: Asking['headersOf']
  readonly settle: Asking['settle']
  seen = none
  room = none
  answer: AnswerHead | undefined = undefined
  left = 0
  chunks: Chunks | undefined = undefined
  stopMoving: (() => void) | undefined = undefined
  isSent = false
  isOver = false

  constructor({ far, side, head: text, body: given, headersOf, settle }: Asking) {
    this.far = far
    this.side = side
    this.head = text
    this.body = given
    this.headersOf = headersOf
    this.settle = settle
  }

  data(bytes: Buffer): void {
    try {
      if (this.answer) body(this, bytes)
      else head(this, bytes)
    } catch (error) {
      spoiled(this, error)
    }
  }
  end(): void {
    if (this.answer?.framing === 'close') answered(this, false)
    else this.close(undefined)
  }
  drain(): void {
    this.side.turn.resume()
  }
  close(error: Error | undefined): void {
    spoiled(this, error ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
  }
  /** The client is gone, or the turn over for another reason. */
  leave(): void {
    if (this.isOver) return
    this.far.socket.destroy()
    finish(this, { how: 'cut' })
  }
  /** The client takes more. */
  goOn(): void {
    if (!this.isOver && this.far.socket.isPaused()) this.far.socket.resume()
  }
}

/** Writes the request; a body that is not there yet as it comes. */
const send = (state: State): void => {
  const { far, side, head: text, body: given } = state
  const { socket } = far
  if (given) {
    state.isSent = true
    return void socket.write(given.length === 0 ? text : text + given.toString('latin1'), 'latin1')
  }
  socket.write(text, 'latin1')
  side.turn.readBody({
    to: socket,
    piece: bytes => state.isOver || socket.write(bytes) || hasRoom(socket),
    end() {
      state.isSent = true
    },
  })
}

/** Begins one, which settles when the answer is written, or there is none. */
export const exchange = (asking: Asking): void => {
  const begun = new Exchange(asking)
  const { turn } = asking.side
  begun.far.on = begun
  turn.onDrain(() => begun.goOn())
  turn.onOver(() => begun.leave())
  if (!begun.isOver) send(begun)
}
