/** Plain answers, written on the connection as node's server would have written them. */
import { STATUS_CODES } from 'node:http'
import { timing } from '../http/server.ts'
import type { Reply } from '../route.ts'
import { ChunkedBody } from './chunks.ts'
import type { Turn } from './turn.ts'

const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${timing.keepAliveTimeout / 1_000}\r\n`
const closed = 'Connection: close\r\n'

/** Answers up to so many bytes leave in one write with their head. */
const smallBytes = 64 * 1024

/** What node's server decides by. */
const ofNode: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'trailer',
  'date',
  'upgrade',
  'expect',
])

const plainValue = /^[\t\x20-\x7e]*$/

/** The answer's own lines; undefined where node has to look at one. `isKept`: its own word that the connection is kept is one of them. */
const linesOf = (headers: Reply['headers'], isKept = false): string | undefined => {
  let text = ''
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || !plainValue.test(value)) return undefined
    if (ofNode.has(name.toLowerCase()) && !(isKept && name === 'connection')) return undefined
    text += `${name}: ${value}\r\n`
  }
  return text
}

/** Statuses whose answers have no body (RFC 9110, section 6.4.1). */
const isBare = (status: number): boolean => status === 204 || status === 304 || status < 200

const statusLine = (status: number): string => `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`

const put = ({ request: { socket } }: Turn, head: string, body: string | Uint8Array | undefined): void => {
  if (body === undefined || body.length === 0) return void socket.write(head, 'latin1')
  if (body.length > smallBytes) {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body)
    return socket.uncork()
  }
  // The head is ASCII.
  if (typeof body === 'string') return void socket.write(head + body)
  const all = Buffer.allocUnsafe(head.length + body.length)
  all.write(head, 'latin1')
  all.set(body, head.length)
  socket.write(all)
}

/** The turn is over when the client, or the kernel, has all of it: what one connection can make us hold is one answer. */
const finish = (turn: Turn, keep: boolean): void => {
  const { socket } = turn.request
  if (socket.writableLength === 0) return turn.done(keep)
  socket.write('', error => {
    if (!error) turn.done(keep)
  })
}

interface Writing {
  /** The line of the date. */
  readonly date: () => string
  /** Another request may follow. */
  readonly keep: boolean
}

/** False for an answer that has to be node's: one in pieces, with cookies, or with a header that says what becomes of the connection. */
export const writeReply = (turn: Turn, reply: Reply, { date, keep }: Writing): boolean => {
  const { status, headers, body, cookies } = reply
  const isPlain = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const lines = isPlain && cookies.length === 0 ? linesOf(headers) : undefined
  if (lines === undefined || !isPlain) return false
  const bare = isBare(status)
  const length =
    bare || 'content-length' in headers ? '' : `content-length: ${body === undefined ? 0 : Buffer.byteLength(body)}\r\n`
  const head = `${statusLine(status)}${lines}${length}${date()}${keep ? kept : closed}\r\n`
  put(turn, head, bare || turn.request.method === 'HEAD' ? undefined : body)
  finish(turn, keep)
  return true
}

/** Begins an answer in chunks; undefined for one that has to be node's. */
export const beginChunks = (
  turn: Turn,
  { status, headers, cookies }: Reply,
  writing: Writing,
): ChunkedBody | undefined => {
  const { connection } = headers
  const isKept = connection === 'keep-alive'
  const lines = cookies.length === 0 && !('content-length' in headers) ? linesOf(headers, isKept) : undefined
  if (lines === undefined || isBare(status) || turn.request.method === 'HEAD') return undefined
  const keep = isKept || writing.keep
  const said = isKept ? '' : keep ? kept : closed
  const head = `${statusLine(status)}${lines}${writing.date()}${said}Transfer-Encoding: chunked\r\n\r\n`
  return new ChunkedBody(turn, head, keep)
}
