/** A request as node's own messages, for handlers that know those: only who reads the connection is another. */
import { IncomingMessage, ServerResponse, type Server } from 'node:http'
import { Socket } from 'node:net'
import type { Head } from './head.ts'
import type { Turn } from './turn.ts'

/** What node's server sets on its messages. */
interface Inner {
  destroyed: boolean
  _closed: boolean
  _last: boolean
  _keepAliveTimeout: number
}

/** By which node remembers that the last write was too much; it forgets it only on connections that it reads itself. */
const needsDrain = Object.getOwnPropertySymbols(new ServerResponse(new IncomingMessage(new Socket()))).find(
  ({ description }) => description === 'kNeedDrain',
)

const messageOf = ({ method, url, fields }: Head, { request: { socket } }: Turn): IncomingMessage => {
  const message = new IncomingMessage(socket)
  message.httpVersionMajor = 1
  message.httpVersionMinor = 1
  message.httpVersion = '1.1'
  message.method = method
  message.url = url
  // Not the same list: whoever handles it may change it.
  message.rawHeaders = [...fields.raw]
  message.headers = { ...fields.headers }
  return message
}

const end = (message: IncomingMessage): void => {
  message.complete = true
  message.push(null)
}

/** Gives `message` its body as it is read. */
const feed = (message: IncomingMessage, turn: Turn): void => {
  if (turn.length === 0) return end(message)
  let isAsked = false
  message._read = () => {
    if (isAsked) return turn.resume()
    isAsked = true
    turn.readBody({
      // What is pushed to one that is destroyed is thrown away.
      piece: bytes => message.push(bytes) || message.destroyed,
      end: () => end(message),
    })
  }
}

const responseOf = (message: IncomingMessage, turn: Turn, keepAliveMs: number): ServerResponse => {
  const response = new ServerResponse(message)
  const inner = response as unknown as Inner
  const { socket } = turn.request
  response.shouldKeepAlive = turn.keepAlive
  inner._keepAliveTimeout = keepAliveMs
  response.assignSocket(socket)
  response.once('finish', () => {
    response.detachSocket(socket)
    inner.destroyed = true
    inner._closed = true
    response.emit('close')
    // What of the body nobody wanted is thrown away.
    if (!message.readableEnded && !message.destroyed) message.resume()
    turn.done(!inner._last)
  })
  turn.onDrain(() => {
    if (needsDrain) (response as unknown as Record<symbol, boolean>)[needsDrain] = false
    response.emit('drain')
  })
  return response
}

/** Has `server` handle a request as one that it had read itself. */
export const passTo = (server: Server, head: Head, turn: Turn): void => {
  const message = messageOf(head, turn)
  const response = responseOf(message, turn, server.keepAliveTimeout)
  turn.onOver(() => {
    if (!response.writableFinished) message.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
  })
  message.on('error', () => {
    // Told to whoever reads it; nobody else is to fall over it.
  })
  feed(message, turn)
  if (turn.expects) response.writeContinue()
  server.emit('request', message, response)
}
