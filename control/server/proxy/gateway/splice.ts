/**
 * WebSockets and other upgrades: after the handshake Hutch is only a pipe between two sockets. Until the workload has
 * agreed to it, it gets nothing but the handshake: what a client sends after a refused one could be a request that
 * nobody has looked at.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import { endGently } from '../../../../shared/end-gently.ts'
import type { Connections, Destination } from '../../../core/channel/connections.ts'
import { upstreamFailed } from '../../../core/channel/unanswered.ts'
import { headText, passRefusal, shakeHands } from './handshake.ts'
import { cameByTls, requestHeaders, responseHeaders, type AnswerRules, type Withheld } from './headers.ts'

export interface Splicing {
  readonly to: Destination
  readonly target: string
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly withheld: Withheld
  readonly answerRules: AnswerRules
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
    throw upstreamFailed(error, to.port ?? to.address.port)
  }
}

/** The headers of the request as the workload gets them, those of the upgrade kept. */
const handshakeHeaders = ({ request, withheld, identity }: Splicing): string[] =>
  requestHeaders(request.rawHeaders, {
    withheld,
    identity,
    remote: request.socket.remoteAddress ?? '',
    host: request.headers.host ?? '',
    isSecure: cameByTls(request.socket),
    keepUpgrade: true,
  })

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

const closed = (side: Duplex): Promise<void> =>
  new Promise(resolve => (side.closed ? resolve() : void side.once('close', () => resolve())))

/** Both ways until either side ends, and until the other one has what was sent before. */
const joined = async (socket: Duplex, far: Socket, watch: Watch): Promise<void> => {
  const ended = Promise.withResolvers<void>()
  for (const side of [socket, far]) {
    side.on('data', watch.heard)
    side.once('close', ended.resolve).once('error', ended.resolve)
  }
  socket.pipe(far).pipe(socket)
  if (far.destroyed || socket.destroyed) ended.resolve()
  await ended.promise
  for (const side of [socket, far]) endGently(side)
  await Promise.all([closed(socket), closed(far)])
}

const talk = async (options: Splicing, far: Socket, watch: Watch): Promise<void> => {
  const { socket, head, target, answerRules } = options
  const leave = () => far.destroy()
  socket.once('close', leave)
  const early = keepEarly(socket, head, () => socket.destroy())
  // It may have gone while the other side was waited for; nobody is told of that again.
  if (socket.destroyed) return
  try {
    const { message, agreed } = await shakeHands(far, { target, headers: handshakeHeaders(options) })
    const kept = early.take()
    const headers = responseHeaders(message.rawHeaders, { ...answerRules, keepUpgrade: agreed !== undefined })
    if (!agreed) return await passRefusal(socket, message, headers)
    socket.write(headText(message, headers), 'latin1')
    if (agreed.length > 0) socket.write(agreed)
    if (kept.length > 0) far.write(kept)
    socket.off('close', leave)
    await joined(socket, far, watch)
  } catch (error) {
    if (!socket.destroyed) throw error
  } finally {
    early.take()
    socket.off('close', leave)
  }
}

/** Pipes until either side ends. Resolves then; rejects only before the first byte went to the client. */
export const splice = async (
  options: Splicing,
  { clock, connections }: { clock: Clock; connections: Connections },
): Promise<void> => {
  const far = await connected(connections, options.to).catch((error: unknown) => {
    options.release()
    throw error
  })
  const watch = watching(options, clock, () => options.socket.destroy())
  try {
    await talk(options, far, watch)
  } finally {
    far.destroy()
    watch.stop()
  }
}
