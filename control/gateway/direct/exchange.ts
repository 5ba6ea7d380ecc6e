/** A request written to a workload and its answer written to the client, off one socket and onto the other. Back-pressure is kept both ways. */
import { hasRoom } from './client-side.ts'
import { answered, finish, none, spoiled, type Asking, type Ending, type State } from './answer-state.ts'
import { body, head } from './answering.ts'

const closed = (state: State, error: Error | undefined): void => {
  const reset = error ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })
  spoiled(state, reset)
}

const listen = (state: State): void => {
  const { far, turn } = state
  far.on = {
    data(bytes) {
      try {
        if (state.answer) body(state, bytes)
        else head(state, bytes)
      } catch (error) {
        spoiled(state, error)
      }
    },
    end() {
      if (state.answer?.framing === 'close') answered(state, false)
      else closed(state, undefined)
    },
    drain: () => turn.resume(),
    close: error => closed(state, error),
  }
  turn.onDrain(() => {
    if (!state.isOver && far.socket.isPaused()) far.socket.resume()
  })
}

/** Writes the request; a body that is not there yet as it comes. */
const send = (state: State): void => {
  const { far, turn, head: text, body: given } = state
  const { socket } = far
  if (given) {
    state.isSent = true
    return void socket.write(given.length === 0 ? text : text + given.toString('latin1'), 'latin1')
  }
  socket.write(text, 'latin1')
  turn.readBody({
    to: socket,
    piece: bytes => state.isOver || socket.write(bytes) || hasRoom(socket),
    end() {
      state.isSent = true
    },
  })
}

/** Resolves when the answer is written, or there is none. */
export const exchange = (asking: Asking): Promise<Ending> =>
  new Promise(settle => {
    const state: State = {
      ...asking,
      seen: none,
      room: none,
      answer: undefined,
      left: 0,
      chunks: undefined,
      stopMoving: undefined,
      isSent: false,
      isOver: false,
      settle,
    }
    listen(state)
    asking.turn.onOver(() => {
      if (state.isOver) return
      asking.far.socket.destroy()
      finish(state, { how: 'cut' })
    })
    if (!state.isOver) send(state)
  })
