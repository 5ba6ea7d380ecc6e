/** Reads one response after the other from the bytes of a connection, without copying bodies. */
import { parseFields, parseResponseHead, ProtocolError, type RawHeaders, type ResponseHead } from './response-head.ts'

export interface ResponseEvents {
  /** Also for 1xx, which another head follows, but for 101. */
  head(head: ResponseHead): void
  /** `last`: nothing follows, and `end` is not called. */
  data(piece: Buffer, last: boolean): void
  end(trailers: RawHeaders): void
}

type State = 'idle' | 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'trailers'

const maxHead = 64 * 1024
const maxSizeLine = 256
/** Nobody has to read them, so no reader slows down who sends them. */
const maxInterim = 32
const maxTrailers = 64
const headEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')
const nothing: Buffer = Buffer.alloc(0)

export class ResponseReader {
  #state: State = 'idle'
  #toHead = false
  #events: ResponseEvents | undefined
  /** Bytes of a head or line that is not complete. */
  #kept = nothing
  #left = 0
  #interim = 0
  #trailers: string[] = []
  #trailerBytes = 0

  /** Begins to read the response to a request. */
  expect(events: ResponseEvents, toHead: boolean): void {
    this.#events = events
    this.#toHead = toHead
    this.#state = 'head'
    this.#interim = 0
  }

  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  /** What came after a 101 and belongs to the new protocol. */
  takeRest(): Buffer {
    const rest = this.#kept
    this.#kept = nothing
    return rest
  }

  /** Takes the next bytes. Throws ProtocolError; also for bytes that nobody asked for. */
  feed(piece: Buffer): void {
    let bytes = this.#kept.length > 0 ? Buffer.concat([this.#kept, piece]) : piece
    this.#kept = nothing
    while (bytes.length > 0) {
      const rest = this.#step(bytes)
      if (rest === undefined) {
        this.#kept = bytes
        return
      }
      bytes = rest
    }
  }

  /** The connection has ended; true when that ended the response as it should. */
  finish(): boolean {
    if (this.#state !== 'close') return this.#state === 'idle'
    this.#done([])
    return true
  }

  /** Takes what it can from the front and returns the rest, or undefined when more has to come first. */
  #step(bytes: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'idle':
        throw new ProtocolError('bytes that belong to no request')
      case 'head':
        return this.#head(bytes)
      case 'length':
      case 'chunk':
        return this.#counted(bytes)
      case 'close':
        this.#events?.data(bytes, false)
        return nothing
      case 'size':
        return this.#line(bytes, line => this.#size(line))
      case 'chunk-end':
        return this.#line(bytes, line => {
          if (line !== '') throw new ProtocolError('a chunk that is longer than it says')
          this.#state = 'size'
        })
      case 'trailers':
        return this.#line(bytes, line => this.#trailer(line))
    }
  }

  #head(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf(headEnd)
    if (end < 0) {
      if (bytes.length > maxHead) throw new ProtocolError('a head that is too long')
      return undefined
    }
    const head = parseResponseHead(bytes.toString('latin1', 0, end), this.#toHead)
    const rest = bytes.subarray(end + headEnd.length)
    const events = this.#events as ResponseEvents
    if (head.status === 101) {
      this.#state = 'idle'
      this.#kept = rest
      events.head(head)
      return nothing
    }
    if (head.status < 200 && ++this.#interim > maxInterim) throw new ProtocolError('too many interim answers')
    events.head(head)
    if (head.status < 200) return rest
    const { framing } = head
    if (framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)) this.#done([])
    else if (framing.kind === 'length') this.#enter('length', framing.length)
    else if (framing.kind === 'chunked') this.#enter('size', 0)
    else this.#enter('close', 0)
    return rest
  }

  #enter(state: State, left: number): void {
    this.#state = state
    this.#left = left
  }

  #counted(bytes: Buffer): Buffer {
    const mine = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes
    this.#left -= mine.length
    const inChunk = this.#state === 'chunk'
    const over = this.#left === 0
    const events = this.#events as ResponseEvents
    if (over) this.#state = inChunk ? 'chunk-end' : 'idle'
    events.data(mine, over && !inChunk)
    return bytes.subarray(mine.length)
  }

  #line(bytes: Buffer, use: (line: string) => void): Buffer | undefined {
    const end = bytes.indexOf(lineEnd)
    if (end < 0) {
      if (bytes.length > (this.#state === 'trailers' ? maxHead : maxSizeLine))
        throw new ProtocolError('a line that is too long')
      return undefined
    }
    use(bytes.toString('latin1', 0, end))
    return bytes.subarray(end + lineEnd.length)
  }

  #size(line: string): void {
    const size = /^([0-9a-fA-F]{1,12})(?:[ \t]*;[\t\x20-\x7e]*)?$/.exec(line)?.[1]
    if (size === undefined) throw new ProtocolError('a chunk size that is none')
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    this.#trailers = []
    this.#trailerBytes = 0
  }

  #trailer(line: string): void {
    if (line === '') return this.#done(parseFields(this.#trailers))
    this.#trailers.push(line)
    this.#trailerBytes += line.length
    if (this.#trailers.length > maxTrailers || this.#trailerBytes > maxHead)
      throw new ProtocolError('too many trailers')
  }

  #done(trailers: RawHeaders): void {
    this.#state = 'idle'
    const events = this.#events as ResponseEvents
    this.#events = undefined
    events.end(trailers)
  }
}
