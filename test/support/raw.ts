/** A bare TCP connection: what no HTTP client would send, and the answer byte for byte. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface Raw {
  readonly socket: Socket
  /** Sends text as latin1, or bytes. */
  send(piece: string | Uint8Array): void
  /** All that came so far, as latin1. */
  text(): string
  /** Resolves when what came matches; fails when the connection ends before, or after a minute. */
  seen(pattern: RegExp): Promise<string>
  /** Resolves with all that came when the other side has ended. */
  readonly ended: Promise<string>
}

/** Connects to `port` of loopback, from an address of loopback; the connection is gone when the test ends. */
export const raw = async (t: Test, port: number, localAddress = '127.0.0.1'): Promise<Raw> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
  t.teardown(() => socket.destroy())
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
  await once(socket, 'connect')
  return {
    socket,
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
export const exchange = async (t: Test, port: number, piece: string | Uint8Array): Promise<string> => {
  const connection = await raw(t, port)
  connection.send(piece)
  return connection.ended
}
