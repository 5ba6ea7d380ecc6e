/**
 * The host's own questions to a daemon, on kept connections. Code in a machine is hostile, and may be what answers: an answer is read
 * strictly, no more of it than so much, and a connection on which anything else came is not used again.
 */
import { Readable } from 'node:stream'
import type { Sending, Transport } from '../../../shared/http/client/transport.ts'
import type { AnswerHead } from './answer-head.ts'
import { newChunks, readChunks, type Chunks } from './chunks.ts'
import type { Far, FarEvents } from './places.ts'
import { none, takeHead } from './take-head.ts'

export interface Line {
  /** One that rests, or a new one; none for a question whose signal has ended it. */
  take(signal: AbortSignal): Far | Promise<Far>
  /** Keeps it for the next, at most so long. */
  giveBack(far: Far, restMs: number): void
}

interface Heard {
  readonly answer: AnswerHead
  readonly pieces: readonly Buffer[]
  /** Whether the connection is at the end of the answer, and nowhere else. */
  readonly isClean: boolean
}

/** Heads, hints before them, and what stands between the pieces of a body: of an answer, in bytes. */
const mostAround = 128 * 1024

class Answer implements FarEvents {
  seen = none
  room = none
  private readonly method: string
  private readonly maxBytes: number
  private readonly pieces: Buffer[] = []
  private readonly settled = Promise.withResolvers<Heard>()
  private answer: AnswerHead | undefined
  private chunks: Chunks | undefined
  /** Bytes of the body that are to come, where it has a length. */
  private left = Infinity
  private taken = 0
  private heard = 0

  constructor(method: string, maxBytes: number) {
    this.method = method
    this.maxBytes = maxBytes
  }

  get whole(): Promise<Heard> {
    return this.settled.promise
  }

  data(bytes: Buffer): void {
    try {
      this.heard += bytes.length
      if (this.heard > this.maxBytes + mostAround) throw new Error('its answer is too long')
      if (this.answer) this.body(bytes)
      else this.head(bytes)
    } catch (error) {
      this.settled.reject(error)
    }
  }
  end(): void {
    if (this.answer?.framing === 'close') this.over(false)
    else this.close(undefined)
  }
  drain(): void {
    // What is asked is small, and written at once.
  }
  close(error: Error | undefined): void {
    this.settled.reject(error ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
  }

  private head(bytes: Buffer): void {
    const taken = takeHead(this, bytes, this.method)
    if (!taken) return
    const { answer, rest } = taken
    this.answer = answer
    if (answer.framing === 'none') return this.over(rest.length === 0)
    if (answer.framing === 'chunks') this.chunks = newChunks()
    else if (answer.framing !== 'close') this.left = answer.framing.bytes
    this.body(rest)
  }

  private body(bytes: Buffer): void {
    if (this.chunks) {
      const read = readChunks(this.chunks, bytes, piece => this.take(piece))
      if (this.chunks.at === 'over') this.over(read === bytes.length)
      return
    }
    const piece = bytes.length > this.left ? bytes.subarray(0, this.left) : bytes
    this.left -= piece.length
    if (piece.length > 0) this.take(piece)
    if (this.left === 0) this.over(piece.length === bytes.length)
  }

  /** What is more than may be read is for the reader to find too long. */
  private take(piece: Buffer): void {
    this.pieces.push(piece)
    this.taken += piece.length
    if (this.taken > this.maxBytes) this.over(false)
  }

  private over(isClean: boolean): void {
    if (this.answer) this.settled.resolve({ answer: this.answer, pieces: this.pieces, isClean })
  }
}

/** What no line of a head holds: whoever could put one there would ask something else in the host's name. */
const lineEnd = /[\r\n\0]/

/** The request as it is sent. Throws TypeError for a body that is no text, and for what would end a line of its head. */
const textOf = ({ method, path, origin, headers, body }: Sending): string => {
  if (typeof body !== 'string' && body !== null && body !== undefined) throw new TypeError('the host asks in texts')
  const { host } = new URL(origin as string | URL)
  const fields = Object.entries(headers as Readonly<Record<string, string>>).map(([name, text]) => `${name}: ${text}`)
  const length = body ? [`content-length: ${Buffer.byteLength(body)}`] : []
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, ...fields, ...length]
  if (lines.some(line => lineEnd.test(line))) throw new TypeError('a line of a head ends where it should not')
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

const headersOf = ({ raw }: AnswerHead): Record<string, string> => {
  const headers: Record<string, string> = {}
  for (let at = 0; at < raw.length; at += 2) headers[(raw[at] as string).toLowerCase()] = raw[at + 1] as string
  return headers
}

/** As long as one rests that nothing was asked on. */
const unusedMs = 10_000

/** Asks by `line`; of an answer's body at most `maxBytes` are read, and a little to show that it is longer. */
export const questions = ({ take, giveBack }: Line, maxBytes: number): Transport => ({
  async request({ signal, ...sending }) {
    const text = textOf(sending)
    const far = await take(signal)
    if (signal.aborted) {
      giveBack(far, unusedMs)
      throw signal.reason
    }
    const answer = new Answer(sending.method, maxBytes)
    const leave = (): void => answer.close(signal.reason)
    far.on = answer
    signal.addEventListener('abort', leave, { once: true })
    try {
      far.socket.write(text)
      const { answer: head, pieces, isClean } = await answer.whole
      if (isClean) giveBack(far, head.restMs)
      else far.socket.destroy()
      return { statusCode: head.status, headers: headersOf(head), body: Readable.from(pieces) }
    } catch (error) {
      far.socket.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', leave)
    }
  },
  async destroy() {
    // Its connections are not its own.
  },
})
