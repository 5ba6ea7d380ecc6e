/** Heads of HTTP/1.1 responses. Strict: what two programs could read in two ways is an error (RFC 9112). */

/** Names and values in turn, as they came. */
export type RawHeaders = readonly string[]

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** The body ends with the connection. */
  | { readonly kind: 'close' }

export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly headers: RawHeaders
  readonly framing: Framing
  /** Another request may follow on this connection. */
  readonly keepAlive: boolean
}

/** The other side does not speak HTTP as it should. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const fieldLine = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/
const maxFields = 256

/** Fields of a block of lines; also those of trailers. */
export const parseFields = (lines: readonly string[]): string[] => {
  if (lines.length > maxFields) throw new ProtocolError('too many header fields')
  const headers: string[] = []
  for (const line of lines) {
    const [, name, value] = fieldLine.exec(line) ?? []
    if (name === undefined) throw new ProtocolError('a header field that is none')
    headers.push(name, value as string)
  }
  return headers
}

interface Facts {
  lengths: string[]
  encodings: string[]
  connection: string
}

const factsOf = (headers: RawHeaders): Facts => {
  const facts: Facts = { lengths: [], encodings: [], connection: '' }
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    // Lengths tell most names apart before they are folded.
    if (name.length === 14 && name.toLowerCase() === 'content-length') facts.lengths.push(headers[i + 1] as string)
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding')
      facts.encodings.push(headers[i + 1] as string)
    else if (name.length === 10 && name.toLowerCase() === 'connection') facts.connection += `,${headers[i + 1]}`
  }
  return facts
}

const framingOf = ({ lengths, encodings }: Facts, status: number, toHead: boolean): Framing => {
  if (encodings.length > 0) {
    if (lengths.length > 0) throw new ProtocolError('both a length and a transfer encoding')
    if (encodings.length > 1 || (encodings[0] as string).toLowerCase() !== 'chunked')
      throw new ProtocolError('a transfer encoding other than chunked')
  }
  const [length, ...more] = lengths
  if (length !== undefined && (!/^\d{1,15}$/.test(length) || more.some(other => other !== length)))
    throw new ProtocolError('a length that is none')
  if (toHead || status < 200 || status === 204 || status === 304) return { kind: 'none' }
  if (encodings.length > 0) return { kind: 'chunked' }
  return length === undefined ? { kind: 'close' } : { kind: 'length', length: Number(length) }
}

/** Reads a head without its last empty line. Throws ProtocolError. */
export const parseResponseHead = (text: string, toHead: boolean): ResponseHead => {
  const lines = text.split('\r\n')
  const [, minor, code, reason = ''] = statusLine.exec(lines.shift() as string) ?? []
  if (code === undefined) throw new ProtocolError('a status line that is none')
  const headers = parseFields(lines)
  const facts = factsOf(headers)
  // RFC 9112, section 6.1: one of the two on the way did not know what it passed on.
  if (minor === '0' && facts.encodings.length > 0) throw new ProtocolError('chunks in HTTP/1.0')
  const status = Number(code)
  const framing = framingOf(facts, status, toHead)
  const keepAlive = minor === '1' && framing.kind !== 'close' && !/(?:^|,)\s*close\s*(?:,|$)/i.test(facts.connection)
  return { status, reason, headers, framing, keepAlive }
}
