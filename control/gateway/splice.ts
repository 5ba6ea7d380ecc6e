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

/** The request as the workload gets it, hop-by-hop headers of the upgrade kept. */
const handshake = ({ request, target, withheld }: Splicing): string => {
  const headers = requestHeaders(request.rawHeaders, {
    withheld,
    remote: request.socket.remoteAddress ?? '',
    host: request.headers.host ?? '',
    keepUpgrade: true,
  })
  const lines = [`${request.method} ${target} HTTP/1.1`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** What keeps the sandbox awake while bytes pass, and not while they do not. */
interface Watch {
  /** Bytes have come. Those for a sandbox that may sleep by now go on when it is awake. */
  heard(): void
  stop(): void
}

const watching = ({ socket, hold, ...options }: Splicing, clock: Clock, giveUp: () => void): Watch => {
  let release: (() => void) | undefined = options.release
  let heardAt = clock.elapsed()
  let waking = false
  let stopped = false
  const stopClock = clock.every(60_000, () => {
    if (clock.elapsed() - heardAt < silenceMs) return
    release?.()
    release = undefined
  })
  const wake = async () => {
    waking = true
    socket.pause()
    const given = await hold()
    waking = false
    if (stopped) return given()
    release = given
    socket.resume()
  }
  return {
    heard() {
      heardAt = clock.elapsed()
      if (!release && !waking) wake().catch(giveUp)
    },
    stop() {
      stopped = true
      stopClock()
      release?.()
    },
  }
}

/** Pipes until either side ends. Resolves then; rejects only before the first byte went to the workload. */
export const splice = async (options: Splicing, clock: Clock): Promise<void> => {
  const { upstream, socket, head } = options
  const far = await connected(upstream).catch((error: unknown) => {
    options.release()
    throw error
  })
  far.write(handshake(options), 'latin1')
  if (head.length > 0) far.write(head)
  const ended = Promise.withResolvers<void>()
  const end = () => {
    socket.destroy()
    far.destroy()
    ended.resolve()
  }
  const watch = watching(options, clock, end)
  for (const side of [socket, far]) {
    side.on('data', watch.heard)
    side.once('close', end)
    side.once('error', end)
  }
  far.pipe(socket)
  socket.pipe(far)
  // Either may have gone while the other was waited for; nobody is told of that again.
  if (far.destroyed || socket.destroyed) end()
  await ended.promise
  watch.stop()
}
