/** The body of a request as a stream, read when it is wanted. */
import { Readable } from 'node:stream'
import type { Turn } from './turn.ts'

/** Gives `to` the body as it is read from the connection; `ended` is called when all of it was. */
export const feed = (to: Readable, turn: Turn, ended: () => void): void => {
  if (turn.length === 0) return ended()
  let isAsked = false
  to._read = () => {
    if (isAsked) return turn.resume()
    isAsked = true
    turn.readBody({
      // What is pushed to one that is destroyed is thrown away.
      piece: bytes => to.push(bytes) || to.destroyed,
      end: ended,
    })
  }
}

/** Told to whoever reads it; nobody else is to fall over it. */
export const failWith = (body: Readable): void => {
  body.on('error', () => {})
  body.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
}

/** A stream of its own of what is still to come; it fails when the connection ends before. */
export const streamOf = (turn: Turn): Readable => {
  const body = new Readable({ read() {} })
  let isWhole = false
  feed(body, turn, () => {
    isWhole = true
    body.push(null)
  })
  turn.onOver(() => {
    if (!isWhole) failWith(body)
  })
  return body
}
