/** One HTTP/1.1 connection to a server: requests one after the other, bodies streamed both ways. */
import type { Socket } from 'node:net'
import type { RawHeaders, ResponseHead } from './response-head.ts'
import { ProtocolError } from './response-head.ts'
import { ResponseReader } from './response-reader.ts'

/** Where a response goes. After `failed` or the end nothing more is called. */
export interface ResponseSink {
  /** 100 to 199 but 101; a final one follows. */
  informed(head: ResponseHead): void
  head(head: ResponseHead): void
  /** False asks to pause until `resume` is called. `last`: nothing follows. */
  data(piece: Buffer, last: boolean): boolean
  end(trailers: RawHeaders): void
  /** 101: the connection is the sink's now. */
  upgraded(head: ResponseHead, socket: Socket, rest: Buffer): void
  /** `before`: nothing of an answer came, so that the request may be sent again where that is safe. */
  failed(error: Error, before: boolean): void
}

export interface Upstream {
  readonly socket: Socket
  /** It has answered a request before: the server may have closed it just now. */
  readonly used: boolean
  /** Sends a head; a body follows with `write` and `endBody` unless `bodiless`. */
  send(head: string, sink: ResponseSink, options: { toHead: boolean; bodiless: boolean }): void
  /** False asks to wait for `onDrain`. */
  write(piece: Buffer | string): boolean
  endBody(): void
  onDrain(run: () => void): void
  /** The sink can take more. */
  resume(): void
  destroy(): void
}

interface State {
  readonly socket: Socket
  readonly reader: ResponseReader
  readonly onIdle: () => void
  sink: ResponseSink | undefined
  head: ResponseHead | undefined
  /** The request's own body has been sent. */
  sent: boolean
  used: boolean
}

const fail = (state: State, error: Error): void => {
  const { sink } = state
  state.sink = undefined
  state.socket.destroy()
  sink?.failed(error, state.head === undefined)
}

/** The response is complete: the connection waits for the next request, or goes. */
const complete = (state: State): void => {
  const reusable = state.sent && state.head?.keepAlive === true && !state.socket.destroyed
  state.sink = undefined
  state.used = true
  if (reusable) {
    // Paused by a slow reader, it would not notice that the server goes.
    state.socket.resume()
    state.onIdle()
  } else state.socket.destroy()
}

const upgrade = (state: State, sink: ResponseSink, head: ResponseHead): void => {
  const { socket, reader } = state
  state.sink = undefined
  socket.pause()
  socket.removeAllListeners('data')
  socket.removeAllListeners('close')
  // The rest is known only when the reader has returned.
  queueMicrotask(() => sink.upgraded(head, socket, reader.takeRest()))
}

const expect = (state: State, sink: ResponseSink, toHead: boolean): void => {
  const { reader, socket } = state
  reader.expect(
    {
      head(head) {
        if (head.status === 101) return upgrade(state, sink, head)
        if (head.status < 200) return sink.informed(head)
        state.head = head
        sink.head(head)
      },
      data(piece, last) {
        if (!sink.data(piece, last) && !last) socket.pause()
        if (last) complete(state)
      },
      end(trailers) {
        sink.end(trailers)
        complete(state)
      },
    },
    toHead,
  )
}

const listen = (state: State): void => {
  const { socket, reader } = state
  socket.on('data', piece => {
    try {
      reader.feed(piece)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      fail(state, error)
    }
  })
  socket.on('error', error => fail(state, error))
  socket.on('close', () => {
    // One that waited for the next request owes nothing.
    if (!state.sink || reader.finish()) return
    fail(state, new ProtocolError('the server closed the connection'))
  })
  // Whoever had it before may have paused it.
  socket.resume()
}

/** `onIdle` is called whenever it can take another request. */
export const createUpstream = (socket: Socket, onIdle: (upstream: Upstream) => void): Upstream => {
  const state: State = {
    socket,
    reader: new ResponseReader(),
    onIdle: () => onIdle(upstream),
    sink: undefined,
    head: undefined,
    sent: false,
    used: false,
  }
  const upstream: Upstream = {
    socket,
    get used() {
      return state.used
    },
    send(head, sink, { toHead, bodiless }) {
      state.sink = sink
      state.head = undefined
      state.sent = bodiless
      expect(state, sink, toHead)
      socket.write(head, 'latin1')
    },
    write: piece => socket.write(piece, 'latin1'),
    endBody() {
      state.sent = true
    },
    onDrain: run => void socket.once('drain', run),
    resume: () => void socket.resume(),
    destroy: () => void socket.destroy(),
  }
  listen(state)
  return upstream
}
