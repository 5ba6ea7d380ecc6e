/** The listener for plain HTTP beside TLS: it leads to the same address with https. */
import { serveWith, type ApiServer, type Listener } from '../../../shared/http/server.ts'
import { endRaw } from '../../../shared/http/raw-answer.ts'

const hostPattern = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i

/** Where a request is led to; undefined for one that names no host. */
export const secureAddress = (host: string | undefined, url: string, port: number): string | undefined => {
  const name = hostPattern.exec(host ?? '')?.[1]
  return name && url.startsWith('/') ? `https://${name}${port === 443 ? '' : `:${port}`}${url}` : undefined
}

/** `port` is that of https; `answer` knows what is said here to an authority. A request that was sent with its credentials in the open is not taken here, only led on. */
export const redirectServer = (port: number, answer: (url: string) => string | undefined): ApiServer => {
  const on: Listener = {
    request(message, response) {
      const known = answer(message.url ?? '')
      if (known !== undefined) return void response.end(known)
      const location = secureAddress(message.headers.host, message.url ?? '', port)
      const headers = { 'content-length': '0', connection: 'close' }
      response.writeHead(location ? 308 : 400, location ? { ...headers, location } : headers)
      response.end()
      message.resume()
    },
    upgrade: (_message, socket) => endRaw(socket, { status: 400 }),
  }
  return serveWith(on, { maxHeadBytes: 16 * 1024 })
}
