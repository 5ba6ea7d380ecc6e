/** An answer by node's own `ServerResponse`, on a connection that node does not read. */
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Turn } from './turn.ts'

/** What node's server sets on its answers. */
interface Inner {
  destroyed: boolean
  _closed: boolean
  _last: boolean
  _keepAliveTimeout: number
}

/** By which node remembers that the last write was too much; it forgets it only on connections that it reads itself. */
const drained = (response: ServerResponse): void => {
  const needsDrain = Object.getOwnPropertySymbols(response).find(({ description }) => description === 'kNeedDrain')
  if (needsDrain) (response as unknown as Record<symbol, boolean>)[needsDrain] = false
  response.emit('drain')
}

/** The answer to `message`, whose end is that of the turn; `finished` is called before. */
export const responseOf = (
  message: IncomingMessage,
  turn: Turn,
  keepAliveMs: number,
  finished: () => void,
): ServerResponse => {
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
    finished()
    turn.done(!inner._last)
  })
  turn.onDrain(() => drained(response))
  return response
}
