/**
 * WebSockets and other upgrades: after the handshake Hutch is only a pipe between two sockets. Until the workload has
 * agreed to it, it gets nothing but the handshake: what a client sends after a refused one could be a request that
 * nobody has looked at.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Connections, Destination } from '../channel/connections.ts'
import { requestHeaders } from './headers.ts'

export interface Splicing {
  readonly to: Destination
  readonly target: string
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly withheld: ReadonlySet<string>
  readonly identity: readonly string[]
  /** The hold that keeps the sandbox awake now; given over, and released here whatever happens. */
  readonly release: () => void
  /** Takes another one, for bytes after a silence. */
  readonly hold: () => Promise<() => void>
}

/** An open socket without traffic for this long keeps nobody awake any more. */
const silenceMs = 15 * 60_000

const connected = async (connections: Connections, to: Destination): Promise<Socket> => {
  try {
    return await connections.open(to, 'client')
  } catch (error) {
    const { port = to.address.port } = to
    throw fail('upstream_failed', { reason: `nothing answers on port ${port} of the sandbox` }, error)
  }
}

/** The request as the workload gets it, hop-by-hop headers of the upgrade kept. */
const handshake = ({ request, target, withheld, identity }: Splicing): string => {
  const headers = requestHeaders(request.rawHeaders, {
    withheld,
    identity,
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

const switching = Buffer.from('HTTP/1.1 101 ', 'latin1')

/** Calls `agreed` when what the workload answers begins as an agreement does, else `refused`; once, with its first bytes. */
const onAnswer = (far: Socket, agreed: () => void, refused: () => void): void => {
  let seen = Buffer.alloc(0)
  const look = (piece: Buffer): void => {
    seen = Buffer.concat([seen, piece.subarray(0, switching.length - seen.length)])
    const so = switching.subarray(0, seen.length).equals(seen)
    if (so && seen.length < switching.length) return
    far.off('data', look)
    if (so) agreed()
    else refused()
  }
  far.on('data', look)
}

const maxEarlyBytes = 64 * 1024

/** Keeps what the client sends before it has an answer; calls `end` when that is too much, or the client leaves. */
const keepEarly = (socket: Duplex, head: Buffer, end: () => void): { take(): Buffer } => {
  const pieces = [head]
  let size = head.length
  const keep = (piece: Buffer): void => {
    pieces.push(piece)
    size += piece.length
    if (size > maxEarlyBytes) end()
  }
  socket.on('data', keep).once('end', end)
  return {
    take() {
      socket.off('data', keep).off('end', end)
      return Buffer.concat(pieces)
    },
  }
}

/** Pipes until either side ends. Resolves then; rejects only before the first byte went to the workload. */
export const splice = async (
  options: Splicing,
  { clock, connections }: { clock: Clock; connections: Connections },
): Promise<void> => {
  const { to, socket, head } = options
  const far = await connected(connections, to).catch((error: unknown) => {
    options.release()
    throw error
  })
  far.write(handshake(options), 'latin1')
  const ended = Promise.withResolvers<void>()
  const end = () => {
    socket.destroy()
    far.destroy()
    ended.resolve()
  }
  const watch = watching(options, clock, end)
  far.on('data', watch.heard)
  for (const side of [socket, far]) {
    side.once('close', end)
    side.once('error', end)
  }
  const early = keepEarly(socket, head, end)
  onAnswer(
    far,
    () => {
      const kept = early.take()
      if (kept.length > 0) far.write(kept)
      socket.on('data', watch.heard)
      socket.pipe(far)
    },
    // The client gets the answer; its own bytes go nowhere.
    () => {
      early.take()
      far.end()
      socket.resume()
    },
  )
  far.pipe(socket)
  // Either may have gone while the other was waited for; nobody is told of that again.
  if (far.destroyed || socket.destroyed) end()
  await ended.promise
  watch.stop()
}
