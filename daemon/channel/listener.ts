/** The listener of the channel: a connection proves its role, then it is one of the HTTP server's. */
import { createServer, type Socket } from 'node:net'
import { equalProofs, nonceBytes, prefaceBytes, provenBytes, readPreface, type Role } from '../../shared/channel.ts'
import { accepting, type Accept } from '../../shared/http/listen.ts'
import { hmacSha256 } from '../native/hmac/hmac.ts'
import { randomBytes } from '../native/sys/sys.ts'
import { createUnproven } from './unproven.ts'

interface ChannelOptions {
  readonly key: Buffer
  /** Id of the machine that the proof must be for. */
  readonly machine: string
  /** The only address that connections may come from; any when it is left out. */
  readonly from?: string | undefined
  readonly accept: Accept
}

export interface ChannelListener {
  /** Accepts on a descriptor of a listening socket, which it closes at the end. */
  resume(fd: number): Promise<void>
  /** Stops accepting; resolves when no connection is about to prove itself. */
  pause(): Promise<void>
  close(): void
}

/** How long those who have connected may take to prove themselves when nobody else is accepted. */
const settleMs = 200

const addressOf = (remote = ''): string => remote.replace(/^::ffff:/, '')

/** Reads the preface and hands the connection on as if it had only just begun. */
const prove = (socket: Socket, options: ChannelOptions, proven: (role: Role) => void): void => {
  const nonce = randomBytes(nonceBytes)
  const pieces: Buffer[] = []
  let size = 0
  const onData = (piece: Buffer): void => {
    pieces.push(piece)
    size += piece.length
    if (size < prefaceBytes) return
    socket.off('data', onData)
    const bytes = Buffer.concat(pieces)
    const preface = readPreface(bytes.subarray(0, prefaceBytes))
    const expected = preface && hmacSha256(options.key, provenBytes(nonce, preface.role, options.machine))
    // Nothing is said to who cannot prove it.
    if (!preface || !expected || !equalProofs(preface.proof, expected)) return void socket.destroy()
    socket.pause()
    if (size > prefaceBytes) socket.unshift(bytes.subarray(prefaceBytes))
    proven(preface.role)
    socket.resume()
  }
  socket.on('data', onData)
  socket.write(nonce)
}

/** `proven` gets each connection with its role; what it reads from it is HTTP. */
export const createChannelListener = (
  options: ChannelOptions,
  proven: (socket: Socket, role: Role) => void,
): ChannelListener => {
  const unproven = createUnproven()
  const ignore = (): void => {}
  // As the sockets of node:http are.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    if (options.from !== undefined && addressOf(socket.remoteAddress) !== options.from) return void socket.destroy()
    // Whoever leaves before the proof is nobody's concern.
    socket.on('error', ignore)
    socket.once('end', onEnd)
    function onEnd(): void {
      socket.destroy()
    }
    unproven.add(socket)
    prove(socket, options, role => {
      unproven.settled(socket)
      socket.off('end', onEnd)
      proven(socket, role)
      socket.off('error', ignore)
    })
  })
  return {
    resume: fd => accepting(server, () => options.accept(server, fd)),
    async pause() {
      server.close()
      for (const end = performance.now() + settleMs; unproven.size > 0 && performance.now() < end; )
        await new Promise(resolve => setTimeout(resolve, 2))
      unproven.closeAll()
    },
    close() {
      server.close()
      unproven.closeAll()
    },
  }
}
