/** A body whose length nobody knows before its end, in chunks (RFC 9112, section 7.1): the bytes that node's answers would send, by less. */
import { Writable } from 'node:stream'
import type { Turn } from './turn.ts'

type Done = (error?: Error | null) => void

/** A write fails when its connection is gone, which is told by the end of the turn. */
const unlessGone =
  (done: () => void): Done =>
  error => {
    if (!error) done()
  }

export class ChunkedBody extends Writable {
  /** What node's answers have, too. */
  readonly req: Turn['request']
  readonly headersSent = true
  private readonly turn: Turn
  private readonly keep: boolean
  /** Until it has left. */
  private head: string

  /** The head leaves with what is written at once. `keep`: another request may follow. */
  constructor(turn: Turn, head: string, keep: boolean) {
    super({ decodeStrings: false })
    this.turn = turn
    this.req = turn.request
    this.head = head
    this.keep = keep
    turn.onOver(() => void this.destroy())
    queueMicrotask(() => {
      if (this.head !== '' && !this.destroyed) this.req.socket.write(this.takeHead(), 'latin1')
    })
  }

  override _write(given: Buffer | string, encoding: BufferEncoding, done: Done): void {
    const { socket } = this.req
    const piece = typeof given === 'string' && encoding !== 'utf8' ? Buffer.from(given, encoding) : given
    const length = Buffer.byteLength(piece)
    // A chunk of nothing would end the body.
    if (length === 0) return done()
    const before = `${this.takeHead()}${length.toString(16)}\r\n`
    if (typeof piece === 'string') return void socket.write(`${before}${piece}\r\n`, unlessGone(done))
    socket.cork()
    socket.write(before, 'latin1')
    socket.write(piece)
    socket.write('\r\n', 'latin1', unlessGone(done))
    socket.uncork()
  }

  override _final(done: Done): void {
    this.req.socket.write(
      `${this.takeHead()}0\r\n\r\n`,
      'latin1',
      unlessGone(() => {
        done()
        this.turn.done(this.keep)
      }),
    )
  }

  override _destroy(error: Error | null, done: Done): void {
    // What is cut off before its end must not look like a whole body.
    if (!this.turn.isOver) this.turn.cut()
    done(error)
  }

  private takeHead(): string {
    const { head } = this
    this.head = ''
    return head
  }
}
