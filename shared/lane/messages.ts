/** A request as node's own messages, for handlers that know those: only who reads the connection is another. */
import { IncomingMessage, type Server } from 'node:http'
import { failWith, feed } from './body.ts'
import type { Head } from './head.ts'
import { responseOf } from './response.ts'
import type { Turn } from './turn.ts'

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

/** Has `server` handle a request as one that it had read itself. */
export const passTo = (server: Server, head: Head, turn: Turn): void => {
  const message = messageOf(head, turn)
  const response = responseOf(message, turn, server.keepAliveTimeout, () => {
    // What of the body nobody wanted is thrown away.
    if (!message.readableEnded && !message.destroyed) message.resume()
  })
  turn.onOver(() => {
    if (!response.writableFinished) failWith(message)
  })
  message.on('error', () => {
    // Told to whoever reads it; nobody else is to fall over it.
  })
  feed(message, turn, () => {
    message.complete = true
    message.push(null)
  })
  if (turn.expects) response.writeContinue()
  server.emit('request', message, response)
}
