/** Opens connections into machines: plain ones, and those of the channel, which begin with a proof of who speaks. */
import { createHmac, createSecretKey } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { nonceBytes, provenBytes, writePreface, type Role } from '../../../shared/channel.ts'

const connectMs = 5_000
/** The kernel takes the connection; the daemon of a box on which a hundred start at once may get its turn much later. */
const nonceMs = 30_000

/** Runs `step` until it settles, the socket fails, or the time is over; in the last two cases the socket is destroyed. */
const bounded = <T>(
  socket: Socket,
  ms: number,
  step: (done: (value: T) => void, fail: (error: Error) => void) => void,
) =>
  new Promise<T>((resolve, reject) => {
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      socket.off('error', fail).off('close', onClose)
      end()
    }
    const fail = (error: Error): void =>
      settle(() => {
        // Nobody hears what else becomes of it.
        socket.on('error', () => {}).destroy()
        reject(error)
      })
    const onClose = (): void => fail(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    const timer = setTimeout(() => fail(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })), ms)
    socket.on('error', fail).on('close', onClose)
    step(value => settle(() => resolve(value)), fail)
  })

/** A connection to a port of a machine. */
export const connectPlain = (host: string, port: number): Promise<Socket> => {
  const socket = connect({ host, port, noDelay: true })
  return bounded(socket, connectMs, done => socket.once('connect', () => done(socket)))
}

const readNonce = (socket: Socket, ms: number): Promise<Buffer> =>
  bounded(socket, ms, (done, fail) => {
    const onReadable = (): void => {
      const nonce = socket.read(nonceBytes) as Buffer | null
      if (!nonce) return
      socket.off('readable', onReadable)
      // Bytes that came before anything was asked would be taken for an answer.
      if (nonce.length !== nonceBytes || socket.readableLength > 0) return fail(new Error('no daemon answers there'))
      done(nonce)
    }
    socket.on('readable', onReadable)
  })

export interface ChannelPlace {
  readonly host: string
  readonly port: number
  readonly machine: string
  readonly key: Buffer
}

/** A connection to a machine's daemon, which speaks first and in time, on which `role` speaks: what is written to it now is HTTP. */
export const connectChannel = async (
  { host, port, machine, key }: ChannelPlace,
  role: Role,
  withinMs = nonceMs,
): Promise<Socket> => {
  const socket = await connectPlain(host, port)
  const nonce = await readNonce(socket, withinMs)
  const proof = createHmac('sha256', createSecretKey(key))
    .update(provenBytes(nonce, role, machine))
    .digest()
  socket.write(writePreface(role, proof))
  return socket
}
