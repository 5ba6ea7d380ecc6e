/** Bodies in chunks that could be taken over: each is followed from its head on. */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { ChunkPlace } from '../native/receive/receive.ts'
import { trackChunks, type ChunkTracker } from './chunk-tracker.ts'
import type { Connection } from './connection.ts'

/** Bodies in chunks whose packets are looked at. */
const tracked = new WeakMap<Readable, ChunkTracker>()
/** How much a connection had read at its last request: with two requests in one packet, nobody knows where the second begins. */
const requested = new WeakMap<object, number>()

/** To be called while the parser reports the head of a request. */
const observe = (message: IncomingMessage): void => {
  const socket = message.socket as Connection
  const { bytesRead, parser } = socket
  const isFirst = requested.get(socket) !== bytesRead
  requested.set(socket, bytesRead)
  if (!isFirst || !parser || message.headers['transfer-encoding']?.toLowerCase() !== 'chunked') return
  const tracker = trackChunks(parser, message)
  if (tracker) tracked.set(message, tracker)
}

/** Where in its chunks a body can be taken over, when all that came of it until then is accounted for. */
export const placeOf = (message: IncomingMessage, taken: number): ChunkPlace | undefined => {
  const place = tracked.get(message)?.place()
  // While a packet is read, not all that is in it is delivered.
  if ((message.socket as Connection).parser?.getCurrentBuffer?.()?.length) return undefined
  return !place || place.between || place.decoded !== taken + message.readableLength ? undefined : place
}

/** Whether the body may still be taken over. */
export const isTracked = (body: Readable): boolean => tracked.get(body)?.active() ?? false

/** Nothing is known of what the parser reads from now on. */
export const stopTracking = (body: Readable): void => {
  tracked.get(body)?.stop()
  tracked.delete(body)
}

/** Once for all, however many ask for it. */
let observing = false

/** Follows the bodies of all servers in this process from now on. */
export const observeRequests = (): void => {
  // Published while the parser reports the head.
  if (!observing)
    subscribe('http.server.request.start', message => observe((message as { request: IncomingMessage }).request))
  observing = true
}
