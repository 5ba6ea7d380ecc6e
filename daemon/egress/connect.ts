/** CONNECT through the outside proxy, with the current credential; then bytes flow both ways without a deadline. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { endGently } from '../../shared/end-gently.ts'
import { messageOf } from '../../shared/errors.ts'
import { endRaw } from '../../shared/http/raw-answer.ts'
import { openRequest, type ProxyDeps } from './upstream.ts'

interface Answered {
  readonly answer: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

/** Bytes of a refusal that are passed on. */
const maxRefusalBytes = 4096

const ask = (target: string, token: string, deps: ProxyDeps): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const { upstream } = deps
    const headers = ['Host', target, 'Proxy-Authorization', upstream.credential(token)]
    const asked = openRequest(upstream, { method: 'CONNECT', target, headers }, deps)
    asked.once('connect', (answer: IncomingMessage, socket: Duplex, head: Buffer) => resolve({ answer, socket, head }))
    asked.once('error', reject)
    asked.end()
  })

/** The beginning of a refusal's body, which Node leaves in the socket. */
const words = ({ answer, socket, head }: Answered, deps: ProxyDeps): Promise<string> =>
  new Promise(resolve => {
    const length = Number(answer.headers['content-length'] ?? maxRefusalBytes)
    let bytes = head
    const done = () => {
      cancel()
      socket.destroy()
      resolve(bytes.toString('utf8', 0, Math.min(length, maxRefusalBytes)))
    }
    const cancel = deps.clock.after(2_000, done)
    const look = (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece])
      if (bytes.length >= Math.min(length, maxRefusalBytes)) done()
    }
    socket.on('data', look)
    socket.once('close', done)
    socket.on('error', done)
    look(Buffer.alloc(0))
  })

/** Refuses on the client's connection. */
const refuse = (client: Duplex, status: number, text: string, reason?: string): void =>
  endRaw(client, { status, reason, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: `${text}\n` })

const join = (client: Duplex, far: Duplex, sent: Buffer, received: Buffer): void => {
  for (const [one, other] of [
    [client, far],
    [far, client],
  ] as const) {
    // When one side is gone, the other is closed too. The event 'close' follows an error.
    one.on('error', () => {})
    one.once('close', () => endGently(other))
  }
  if (received.length > 0) client.write(received)
  if (sent.length > 0) far.write(sent)
  client.pipe(far)
  far.pipe(client)
}

/** Answers one CONNECT of a program in the sandbox. */
export const connectThrough = async (
  message: IncomingMessage,
  client: Duplex,
  head: Buffer,
  deps: ProxyDeps,
): Promise<void> => {
  const target = message.url ?? ''
  client.on('error', () => client.destroy())
  try {
    let answered = await ask(target, deps.token.get(), deps)
    if (answered.answer.statusCode === 407) {
      answered.socket.destroy()
      answered = await ask(target, deps.token.again(), deps)
    }
    const { statusCode = 502, statusMessage = '' } = answered.answer
    if (client.destroyed) return void answered.socket.destroy()
    if (statusCode >= 200 && statusCode < 300) {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      return join(client, answered.socket, head, answered.head)
    }
    const said = await words(answered, deps)
    refuse(client, statusCode, `the proxy refused CONNECT ${target}: ${statusCode} ${said}`.trimEnd(), statusMessage)
  } catch (error) {
    deps.log.warn('egress.connect-failed', { target, reason: messageOf(error) })
    refuse(client, 502, `the proxy cannot be reached: ${messageOf(error)}`)
  }
}
