/** Brings Node's parser to where somebody is who has read the body past it. */
import type { ChunkPlace, Finished } from '../native/receive/receive.ts'
import type { Connection } from './connection.ts'

/** The bytes that the parser counts. Nothing reads them, so their pages are never touched and take no memory. */
const nothing = Buffer.alloc(1024 * 1024)

/** Feeds the parser while its callback for the body, which would copy each byte, is away. */
const unheard = (socket: Connection, slot: number, feed: (give: (bytes: Buffer) => void) => void): void => {
  const { parser } = socket
  if (!parser) return
  const callback = parser[slot]
  parser[slot] = undefined
  try {
    feed(bytes => {
      if (bytes.length > 0 && !socket.destroyed) socket.emit('data', bytes)
    })
  } finally {
    parser[slot] = callback
  }
}

/** Makes the parser count bytes that it did not see. */
const skip = (count: number, give: (bytes: Buffer) => void): void => {
  for (let left = count; left > 0; left -= nothing.length)
    give(left < nothing.length ? nothing.subarray(0, left) : nothing)
}

/** The parser has seen so many bytes more of a body with a length. */
export const skipBytes = (socket: Connection, slot: number, count: number): void =>
  unheard(socket, slot, give => skip(count, give))

/**
 * Leads the parser from where it was in the chunks to where the reader is: to the end of its chunk, and into one with as much
 * left as the reader's has. It then reads what the reader has not decoded.
 */
export const followChunks = (
  socket: Connection,
  slot: number,
  from: ChunkPlace,
  finished: Omit<Finished, 'ahead'>,
): void => {
  const { left, chunk } = finished
  if (!chunk) return
  const { remaining, needsCrlf, raw } = chunk
  unheard(socket, slot, give => {
    skip(from.remaining, give)
    if (from.remaining > 0 || from.needsCrlf) give(Buffer.from('\r\n'))
    if (remaining > 0) give(Buffer.from(`${remaining.toString(16)}\r\n`))
    else if (needsCrlf) give(Buffer.from('1\r\n0'))
  })
  const rest = left === 0 ? Buffer.concat([Buffer.from('0\r\n\r\n'), raw]) : raw
  if (rest.length > 0 && !socket.destroyed) socket.emit('data', rest)
}
