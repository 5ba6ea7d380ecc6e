/** An upgrade as the workload is asked for it, and what it answers: agreement, or an answer like any other. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errno, fail, messageOf } from '../../../../shared/errors.ts'

export interface Handshake {
  readonly target: string
  /** Names and values, in turn. */
  readonly headers: readonly string[]
}

/** What the workload said; it speaks on by itself only when it `agreed`. */
export interface HandshakeAnswer {
  readonly message: IncomingMessage
  /** The first bytes behind an agreement; undefined for a refusal, whose body `message` is. */
  readonly agreed?: Buffer
}

/** Asks on `far`, a connection of its own. Throws `upstream_failed` when there is no answer in HTTP. */
export const shakeHands = async (far: Socket, { target, headers }: Handshake): Promise<HandshakeAnswer> => {
  const answered = Promise.withResolvers<HandshakeAnswer>()
  const asked = httpRequest({ path: target, headers: [...headers], createConnection: () => far })
  asked.once('upgrade', (message, _socket, agreed) => answered.resolve({ message, agreed }))
  asked.once('response', message => answered.resolve({ message }))
  // Later ones are those of the connection, which has its own listeners by then.
  asked.on('error', error => answered.reject(error))
  asked.end()
  try {
    return await answered.promise
  } catch (error) {
    const said = errno(error) === 'ECONNRESET' ? 'closes the connection' : `gives no answer: ${messageOf(error)}`
    throw fail('upstream_failed', { reason: `what listens there ${said} when asked to upgrade` }, error)
  }
}

/** The head of an answer with these headers, names and values in turn. */
export const headText = ({ statusCode, statusMessage }: IncomingMessage, headers: readonly string[]): string => {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Passes a refusal on and closes: what the client sends from now on goes nowhere. */
export const passRefusal = async (client: Duplex, message: IncomingMessage, headers: readonly string[]) => {
  client.resume()
  client.write(headText(message, [...headers, 'connection', 'close']), 'latin1')
  await pipeline(message, client).catch(() => client.destroy())
}
