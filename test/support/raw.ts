/** A bare connection, with TLS or without: what no HTTP client would send, and the answer byte for byte. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Test } from 'tap'

/** A port of loopback, and where TLS is spoken there whom the client trusts. */
export type Place = number | { readonly port: number; readonly ca: string }

export interface Raw {
  readonly socket: Socket
  /** Ends the connection as who has crashed: by a reset. */
  reset(): void
  /** Sends text as latin1, or bytes. */
  send(piece: string | Uint8Array): void
  /** All that came so far, as latin1. */
  text(): string
  /** Resolves when what came matches; fails when the connection ends before, or after a minute. */
  seen(pattern: RegExp): Promise<string>
  /** Resolves with all that came when the other side has ended. */
  readonly ended: Promise<string>
}

/** Connects from an address of loopback; the connection is gone when the test ends. */
export const raw = async (t: Test, place: Place, localAddress = '127.0.0.1'): Promise<Raw> => {
  const { port, ca } = typeof place === 'number' ? { port: place, ca: undefined } : place
  const below = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
  const socket = ca === undefined ? below : connectTls({ socket: below, ca, servername: 'localhost' })
  t.teardown(() => {
    socket.destroy()
    below.destroy()
  })
  let text = ''
  let over = false
  const changed = new Set<() => void>()
  const tell = () => {
    for (const one of changed) one()
  }
  const ended = new Promise<string>(resolve => {
    const end = () => {
      over = true
      resolve(text)
      tell()
    }
    socket.once('end', end)
    socket.once('close', end)
  })
  socket.on('error', () => {
    // A reset is one of the answers; 'close' tells it.
  })
  socket.on('data', piece => {
    text += piece.toString('latin1')
    tell()
  })
  await once(socket, ca === undefined ? 'connect' : 'secureConnect')
  return {
    socket,
    reset: () => void below.resetAndDestroy(),
    send: piece => void socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece),
    text: () => text,
    seen: pattern =>
      new Promise((resolve, reject) => {
        const stop = (run: () => void) => {
          changed.delete(look)
          clearTimeout(timer)
          run()
        }
        const said = () => `${pattern} in ${JSON.stringify(text.slice(-500))}`
        const timer = setTimeout(() => stop(() => reject(new Error(`waited a minute for ${said()}`))), 60_000)
        const look = () => {
          if (pattern.test(text)) stop(() => resolve(text))
          else if (over) stop(() => reject(new Error(`the connection ended without ${said()}`)))
        }
        changed.add(look)
        look()
      }),
    ended,
  }
}

/** Sends all at once and answers what comes back until the other side closes. */
export const exchange = async (t: Test, place: Place, piece: string | Uint8Array): Promise<string> => {
  const connection = await raw(t, place)
  connection.send(piece)
  return connection.ended
}
