/**
 * Requests and answers of HTTP/2 as handlers of HTTP/1.1 know them: Host instead of `:authority`, one `Cookie` header, a body
 * that is announced, and an end that was no end told as such (RFC 9113, section 8).
 */
import type { IncomingHttpHeaders as Http1Headers } from 'node:http'
import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { ReadableOptions } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { hopByHop } from './hop-by-hop.ts'

/** The connection under each session, which node:http2 hides behind another object for each stream. */
export const socketsOfSessions = new WeakMap<object, TLSSocket>()

/** Names and values in turn, as HTTP/1.1 would have sent them. */
const plainFields = (raw: readonly string[]): string[] => {
  const fields: string[] = []
  const cookies: string[] = []
  let authority: string | undefined
  for (let at = 0; at < raw.length; at += 2) {
    const [name, value] = [raw[at] as string, raw[at + 1] as string]
    if (name === ':authority') authority = value
    else if (name === 'cookie') cookies.push(value)
    // One that says something else stays, and two are refused.
    else if (!name.startsWith(':') && !(name === 'host' && value === authority)) fields.push(name, value)
  }
  if (authority !== undefined) fields.unshift('host', authority)
  // Browsers cut it into pieces, section 8.2.3.
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '))
  return fields
}

/** Whether a length or an end of the body has come with the head. */
const hasKnownEnd = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean =>
  stream.endAfterHeaders || headers['content-length'] !== undefined

/** Headers as HTTP/1.1 would have had them; a body without a length is one in pieces. */
const plainHeaders = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Http1Headers => {
  const plain = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')))
  const host = headers[':authority'] ?? headers.host
  return {
    ...plain,
    ...(host === undefined ? {} : { host }),
    ...(hasKnownEnd(stream, headers) ? {} : { 'transfer-encoding': 'chunked' }),
  }
}

export class PlainRequest extends Http2ServerRequest {
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    raw: readonly string[],
  ) {
    super(stream, headers, options, raw)
    // Node has getters for them, which say what came.
    Object.defineProperties(this, {
      rawHeaders: { value: plainFields(raw) },
      headers: { value: plainHeaders(stream, headers) },
      socket: { value: socketsOfSessions.get(stream.session as ServerHttp2Session) },
    })
    // Without a listener an error would end the process.
    this.on('error', () => undefined)
    stream.on('aborted', () => this.#cut())
  }

  #cut(): false {
    this.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
    return false
  }

  /** Node ends the body of a stream that was reset as if it were whole. */
  override push(piece: unknown, encoding?: BufferEncoding): boolean {
    const { stream } = this
    const isWhole = piece !== null || (stream.rstCode === 0 && !stream.aborted && !stream.session?.destroyed)
    return isWhole ? super.push(piece, encoding) : this.#cut()
  }

  /** Nobody reads the rest: the client is told so once it has its answer. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { stream } = this
    const stop = (): void => stream.close(constants.NGHTTP2_NO_ERROR)
    if (stream.writableFinished) stop()
    else stream.once('finish', stop)
    done(error)
  }
}

/** Headers of which node:http2 takes one: it throws at a second (`kSingleValueFields` in its `lib/internal/http2/util.js`). */
const single: ReadonlySet<string> = new Set(
  `access-control-allow-credentials access-control-max-age access-control-request-method age authorization content-encoding
  content-language content-length content-location content-md5 content-range content-type date dnt etag expires from host
  if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards
  proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options`.split(
    /\s+/,
  ),
)

const fieldsOf = (headers: readonly string[]): string[] => {
  const seen = new Set<string>()
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase()
    // HTTP/2 has none of a connection, and Node warns of what it drops.
    if (hopByHop.has(name) || (single.has(name) && seen.has(name))) continue
    seen.add(name)
    kept.push(name, headers[at + 1] as string)
  }
  return kept
}

type Head = Parameters<Http2ServerResponse['writeHead']>[1]

export class PlainResponse extends Http2ServerResponse {
  constructor(stream: ServerHttp2Stream) {
    super(stream)
    Object.defineProperty(this, 'destroyed', { get: () => stream.destroyed })
  }

  /** HTTP/2 has no reason phrases. */
  override writeHead(status: number, ...rest: readonly unknown[]): this {
    const given = (typeof rest[0] === 'string' ? rest[1] : rest[0]) ?? {}
    const flat = Array.isArray(given) ? (given as string[]) : Object.entries(given as object).flat()
    try {
      super.writeHead(status, fieldsOf(flat) as unknown as Head)
    } catch (error) {
      // They would stand in the way of the answer that says so.
      for (const name of this.getHeaderNames()) this.removeHeader(name)
      throw error
    }
    return this
  }

  override setHeader(name: string, value: number | string | readonly string[]): this {
    if (!hopByHop.has(name.toLowerCase())) super.setHeader(name, value)
    return this
  }

  /** An answer that is cut must not look like a whole one. */
  override destroy(): this {
    if (!this.stream.writableFinished) this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return this
  }
}
