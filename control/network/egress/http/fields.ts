/** Header fields: of HTTP/2 messages, and what both versions have alike. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { hopByHop } from '../../../../shared/http/hop-by-hop.ts'

/** Names and values in turn as an object, so that one name may stand several times. */
export const toObject = (raw: readonly string[]): OutgoingHttpHeaders => {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    const value = raw[i + 1] as string
    const before = headers[name]
    headers[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return headers
}

/** What names and values in turn take in memory, about. */
export const sizeOfLines = (raw: readonly string[]): number => {
  let size = 0
  for (const text of raw) size += text.length
  return size
}

/** Names and values in turn without pseudo headers, which stand apart. */
export const split = (raw: readonly string[]): { pseudo: Map<string, string>; fields: string[] } => {
  const pseudo = new Map<string, string>()
  const fields: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.startsWith(':')) pseudo.set(name, raw[i + 1] as string)
    else fields.push(name, raw[i + 1] as string)
  }
  return { pseudo, fields }
}

/** What may go on: node:http2 throws where it is to send what belongs to one connection, whoever wrote it. */
export const plainFields = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && !hopByHop.has(name)))

/**
 * Fields that mean nothing after a body, or would change what was judged for a server that reads trailers as headers: framing, routing,
 * credentials and how the content is to be read (RFC 9110, section 6.5.1).
 */
const notTrailing: ReadonlySet<string> = new Set([
  ...hopByHop,
  'authorization',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'host',
  'set-cookie',
  'x-forwarded-host',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])

/** Whether a trailer of that name, in lower case, is passed on; `withheld` are our own names. */
export const mayTrail = (name: string, withheld: ReadonlySet<string>): boolean =>
  !notTrailing.has(name) && !withheld.has(name)

export const trailingFields = (headers: IncomingHttpHeaders, withheld: ReadonlySet<string>): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && mayTrail(name, withheld)))
