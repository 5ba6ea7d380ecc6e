/**
 * The local proxy, on loopback and without a credential, that programs of the sandbox use. It adds the current
 * credential and passes everything on to the outside proxy, so that a program that was started before a rotation uses
 * the newest token.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../shared/errors.ts'
import { connectThrough } from './connect.ts'
import { openRequest, withoutHopByHop, type ProxyDeps } from './upstream.ts'

const tell = (response: ServerResponse, status: number, text: string): void => {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${text}\n`)
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > 0

/** Sends one request to the outside proxy; resolves with its answer before the body is read. */
const ask = (message: IncomingMessage, response: ServerResponse, token: string, deps: ProxyDeps) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const { method = 'GET', url: target = '', rawHeaders } = message
    const credential = ['Proxy-Authorization', deps.upstream.credential(token)]
    const body = hasBody(message)
    const chunked = 'transfer-encoding' in message.headers ? ['Transfer-Encoding', 'chunked'] : []
    const headers = [...withoutHopByHop(rawHeaders), ...chunked, ...credential]
    const asked = openRequest(deps.upstream, { method, target, headers }, deps)
    response.once('close', () => asked.destroy())
    asked.once('response', resolve)
    asked.once('error', reject)
    if (!body) asked.end()
    else pipeline(message, asked).catch(reject)
  })

const forward = async (message: IncomingMessage, response: ServerResponse, deps: ProxyDeps): Promise<void> => {
  if (!/^https?:\/\//i.test(message.url ?? ''))
    return tell(response, 400, 'this is a proxy: the target must be an absolute address')
  try {
    let answer = await ask(message, response, deps.token.get(), deps)
    // A body that was sent cannot be sent again.
    if (answer.statusCode === 407 && !hasBody(message)) {
      answer.destroy()
      answer = await ask(message, response, deps.token.again(), deps)
    }
    response.sendDate = false
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', withoutHopByHop(answer.rawHeaders))
    await pipeline(answer, response)
  } catch (error) {
    if (response.destroyed) return
    deps.log.warn('egress.request-failed', { target: message.url, reason: messageOf(error) })
    tell(response, 502, `the proxy cannot be reached: ${messageOf(error)}`)
  }
}

/** The server. It does not listen yet: the caller may want two addresses. */
export const createShimServer = (deps: ProxyDeps): Server => {
  const server = createServer({ requestTimeout: 0, headersTimeout: 30_000, maxHeaderSize: 1024 * 1024 })
  server.timeout = 0
  // Every one of them takes two descriptors of the daemon's.
  server.maxConnections = 4_096
  server.on('request', (message, response) => void forward(message, response, deps))
  server.on('connect', (message, client, head) => void connectThrough(message, client, head, deps))
  return server
}
