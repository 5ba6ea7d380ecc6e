/** A proxy as companies have them: it opens TLS with certificates of its own, and answers or passes on what is asked. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as plainRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls'

/** Answers a request that was meant for `url`. */
export type Answerer = (url: URL, message: IncomingMessage, response: ServerResponse) => void

export interface InterceptingProxy {
  readonly url: string
  /** Its authority, PEM: who does not trust it gets no further than the handshake. */
  readonly caFile: string
  /** Every URL that was asked for. */
  readonly asked: string[]
  close(): void
}

const openssl = (args: readonly string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })

const makeAuthority = (dir: string): { caFile: string; contextFor: (host: string) => SecureContext } => {
  const [ca, caKey] = ['ca.crt', 'ca.key'].map(name => join(dir, name)) as [string, string]
  const request = ['req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=Hutch test authority']
  openssl([...request, '-x509', '-days', '2', '-keyout', caKey, '-out', ca])
  const contexts = new Map<string, SecureContext>()
  const contextFor = (host: string): SecureContext => {
    const known = contexts.get(host)
    if (known) return known
    const [key, signing, crt, ext] = ['key', 'csr', 'crt', 'ext'].map(kind => join(dir, `${host}.${kind}`)) as [
      string,
      string,
      string,
      string,
    ]
    openssl(['req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${host}`, '-keyout', key, '-out', signing])
    writeFileSync(ext, `subjectAltName=DNS:${host}\n`)
    const sign = ['x509', '-req', '-days', '2', '-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-extfile', ext]
    openssl([...sign, '-in', signing, '-out', crt])
    const made = createSecureContext({ key: readFileSync(key), cert: readFileSync(crt) })
    contexts.set(host, made)
    return made
  }
  return { caFile: ca, contextFor }
}

/** Passes everything on to where it was meant for. */
export const passOn: Answerer = (url, message, response) => {
  const { connection: _, 'proxy-connection': __, ...headers } = message.headers
  const send = url.protocol === 'https:' ? secureRequest : plainRequest
  const onward = send(url, { method: message.method, headers: { ...headers, host: url.host } }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  message.pipe(onward)
}

/** Listens on `host`; its certificates are kept in `dir`. */
export const interceptingProxy = async (
  dir: string,
  answer: Answerer,
  host = '127.0.0.1',
): Promise<InterceptingProxy> => {
  const { caFile, contextFor } = makeAuthority(dir)
  const asked: string[] = []
  const server = createServer((message, response) => {
    const origin = (message.socket as { origin?: string }).origin
    const url = new URL(message.url ?? '/', origin)
    asked.push(url.href)
    answer(url, message, response)
  })
  server.on('connect', (message: IncomingMessage, socket, head: Buffer) => {
    const [name = ''] = (message.url ?? '').split(':')
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) socket.unshift(head)
    const opened = new TLSSocket(socket as never, { isServer: true, secureContext: contextFor(name) })
    Object.assign(opened, { origin: `https://${message.url?.replace(/:443$/, '')}` })
    for (const one of [socket, opened]) one.on('error', () => socket.destroy())
    server.emit('connection', opened)
  })
  server.listen(0, host)
  await once(server, 'listening')
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    caFile,
    asked,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
