/** What a daemon that waits to be somebody's does while nobody waits for it. */
import { connect } from 'node:net'
import type { Bound } from '../../shared/route.ts'

/** Routes that are asked soon after a claim, and the claim itself. */
const early: ReadonlySet<string> = new Set(['host.claim', 'process.start', 'process.get', 'filesystem.write'])

/** Makes the shapes that are made with the first request otherwise, and loads the library that makes them. */
export const practise = (bounds: readonly Bound[]): void => {
  for (const { route } of bounds)
    if (early.has(route.id)) for (const shape of [route.params, route.query, route.body]) shape.safeParse({})
}

/** Answers a request of its own: what the first one loads and compiles is there then. Whether that works is nobody's concern. */
export const practiseAnswering = (port: number): void => {
  const socket = connect(port, '127.0.0.1')
  socket
    .on('error', () => {})
    .on('connect', () => socket.end('GET /health HTTP/1.1\r\nhost: daemon\r\nconnection: close\r\n\r\n'))
  socket.resume()
}
