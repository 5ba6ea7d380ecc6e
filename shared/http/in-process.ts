/** Calls what answers Node's HTTP requests, as if it had a socket: for a library that brings a server of its own. */
import { ServerResponse, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

export interface InProcessRequest {
  readonly method: string
  /** As the handler is to see it. */
  readonly url: string
  /** As the client sent it, where something before the handler's own part of it was taken off. */
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly remote: string
  readonly body?: Uint8Array | undefined
}

export interface InProcessAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

const messageOf = ({ body, remote, ...given }: InProcessRequest): IncomingMessage => {
  const version = { httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 }
  const socket = { remoteAddress: remote, encrypted: false }
  return Object.assign(Readable.from(body && body.length > 0 ? [body] : []), {
    ...given,
    ...version,
    socket,
    connection: socket,
    complete: true,
  }) as unknown as IncomingMessage
}

const headersOf = (response: ServerResponse): Record<string, string | string[]> => {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(response.getHeaders()))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value : String(value)
  return headers
}

/** Resolves when the handler ends its answer, which is to be a text. Rejects with what it throws. */
export const callInProcess = (handler: Handler, request: InProcessRequest): Promise<InProcessAnswer> =>
  new Promise((resolve, reject) => {
    const message = messageOf(request)
    const response = new ServerResponse(message)
    const end = (body?: unknown) => {
      const text =
        body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : typeof body === 'string' ? body : ''
      resolve({ status: response.statusCode, headers: headersOf(response), body: text })
      // Whoever waits for the end of the answer is told.
      response.emit('finish')
      return response
    }
    response.end = end as unknown as ServerResponse['end']
    Promise.resolve(handler(message, response)).catch(reject)
  })
