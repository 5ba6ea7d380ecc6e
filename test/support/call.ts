/** Calls a dispatcher in process, without a socket. */
import { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { SocketUpgrade, type Reply, type Request } from '../../shared/route.ts'
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import { documentOf } from './documents.ts'
import { decodePath } from '../../shared/http/request.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  readonly text: string
  /** The parsed body when it is JSON, else undefined. Untyped on purpose: tests look at single fields. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface CallOptions {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
  /** What the request came by. */
  readonly connection?: object
}

/** The request a caller would have sent; `target` is path and query as on the wire. */
export const requestOf = (method: string, target: string, options: CallOptions = {}): Request => {
  const cut = target.indexOf('?')
  const rawPath = cut < 0 ? target : target.slice(0, cut)
  const rawQuery = cut < 0 ? '' : target.slice(cut + 1)
  const { body } = options
  const raw =
    body instanceof Readable
      ? body
      : Readable.from(
          body === undefined
            ? []
            : [
                Buffer.isBuffer(body) || typeof body === 'string'
                  ? Buffer.from(body)
                  : Buffer.from(JSON.stringify(body)),
              ],
        )
  return {
    method,
    rawPath,
    path: decodePath(rawPath),
    search: new URLSearchParams(rawQuery),
    rawQuery,
    headers: Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    body: raw,
    remote: '',
    local: '',
    connection: options.connection,
  }
}

const bytesOf = async (body: Reply['body'], signal: AbortSignal): Promise<Buffer> => {
  if (body === undefined) return Buffer.alloc(0)
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return Buffer.from(body)
  if (body instanceof Readable) return buffer(body)
  const pieces: Buffer[] = []
  const sink = new Writable({
    // Copied: once a write is done its buffer belongs to the pump again, as it does with a socket.
    write(piece: Buffer, _encoding, done) {
      pieces.push(Buffer.from(piece))
      done()
    },
  })
  await body(sink, signal)
  return Buffer.concat(pieces)
}

/** Runs one call to its end and collects the answer. */
const made = async (
  dispatcher: Dispatcher,
  method: string,
  target: string,
  options: CallOptions = {},
): Promise<Answer> => {
  const signal = options.signal ?? new AbortController().signal
  const result = await dispatcher.dispatch(requestOf(method, target, options), { signal })
  if (result instanceof SocketUpgrade)
    throw new Error(`${method} ${target} takes the socket over; call it over a real one`)
  const bytes = await bytesOf(result.body, signal)
  const text = bytes.toString()
  const isJson = (result.headers['content-type'] ?? '').startsWith('application/json')
  return {
    status: result.status,
    headers: result.headers,
    bytes,
    text,
    body: isJson && text ? JSON.parse(text) : undefined,
  }
}

/** The same; throws when the answer is not as the API's own document has it. */
export const call = async (
  dispatcher: Dispatcher,
  method: string,
  target: string,
  options: CallOptions = {},
): Promise<Answer> => {
  const answer = await made(dispatcher, method, target, options)
  const api = await documentOf(dispatcher, async at => (await made(dispatcher, 'GET', at)).text)
  const { rawPath, path } = requestOf(method, target)
  const found = api?.routes.match(method, rawPath, path)
  const problem = found && api?.documented.problemOf(found.bound.route, answer)
  if (problem) throw new Error(problem)
  return answer
}
