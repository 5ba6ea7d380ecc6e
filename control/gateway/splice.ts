/** WebSockets and other upgrades: after the handshake Hutch is only a pipe between two sockets. */
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Address } from '../store/store.ts'
import { requestHeaders } from './headers.ts'

export interface Splicing {
  readonly upstream: Address
  readonly target: string
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly withheld: ReadonlySet<string>
  /** The hold that keeps the sandbox awake now; given over, and released here whatever happens. */
  readonly release: () => void
  /** Takes another one, for bytes after a silence. */
  readonly hold: () => Promise<() => void>
}

/** An open socket without traffic for this long keeps nobody awake any more. */
const silenceMs = 15 * 60_000

const connected = (upstream: Address): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: upstream.host, port: upstream.port, noDelay: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', error =>
      reject(fail('upstream_failed', { reason: `nothing answers on port ${upstream.port} of the sandbox` }, error)),
    )
  })

/** Pipes until either side ends. Resolves then; rejects only before the first byte went to the workload. */
export const splice = async (options: Splicing, clock: Clock): Promise<void> => {
  const { upstream, target, request, socket, head, withheld, hold } = options
  let release: (() => void) | undefined = options.release
  const far = await connected(upstream).catch((error: unknown) => {
    options.release()
    throw error
  })
  const headers = requestHeaders(request.rawHeaders, {
    withheld,
    remote: request.socket.remoteAddress ?? '',
    host: request.headers.host ?? '',
    keepUpgrade: true,
  })
  const lines = [`${request.method} ${target} HTTP/1.1`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  far.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (head.length > 0) far.write(head)

  let heardAt = clock.elapsed()
  const stopWatch = clock.every(60_000, () => {
    if (clock.elapsed() - heardAt < silenceMs) return
    release?.()
    release = undefined
  })
  await new Promise<void>(resolve => {
    let open = true
    let waking = false
    const end = () => {
      if (!open) return
      open = false
      socket.destroy()
      far.destroy()
      resolve()
    }
    const heard = () => {
      heardAt = clock.elapsed()
      if (release || waking) return
      // Bytes for a sandbox that may sleep by now: they go on when it is awake.
      waking = true
      socket.pause()
      hold().then(
        given => {
          waking = false
          if (!open) return given()
          release = given
          socket.resume()
        },
        () => end(),
      )
    }
    for (const side of [socket, far]) {
      side.on('data', heard)
      side.once('close', end)
      side.once('error', end)
    }
    far.pipe(socket)
    socket.pipe(far)
    // Either may have gone while the other was waited for; nobody is told of that again.
    if (far.destroyed || socket.destroyed) end()
  })
  stopWatch()
  release?.()
}
