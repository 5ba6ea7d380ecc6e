/** Which protocol the first bytes of a connection belong to, as generously as servers read them. */

export type Protocol =
  | 'tls'
  | 'http'
  /** HTTP/2 without TLS and without asking first. */
  | 'h2'
  /** Neither: passed on unread, where nothing has to be read. */
  | 'other'
  /** More bytes are needed. */
  | 'more'

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
/** A line longer than this is no request line that would be served. */
const maxLine = 16_384
const text = /^[\t\x20-\x7e\x80-\xff]*$/

/** `bytes` are the first of the client, at least one. */
export const classify = (bytes: Buffer): Protocol => {
  if (bytes[0] === 22) return bytes.length < 3 ? 'more' : bytes[1] === 3 ? 'tls' : 'other'
  // SSL 2.0's hello: read by nobody who should be.
  if ((bytes[0] as number) & 0x80 && bytes[2] === 1) return 'other'
  const start = bytes.toString('latin1', 0, preface.length)
  if (preface.startsWith(start)) return start.length < preface.length ? 'more' : 'h2'
  // Lenient servers skip empty lines and blanks before a request.
  const line = bytes.toString('latin1', 0, maxLine).replace(/^[\r\n\t ]+/, '')
  const end = line.search(/[\r\n]/)
  const first = end < 0 ? line : line.slice(0, end)
  if (!text.test(first)) return 'other'
  if (end < 0) return bytes.length < maxLine ? 'more' : 'other'
  return / HTTP\/\d/i.test(first) || /^(?:GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS|CONNECT|TRACE)\b/i.test(first)
    ? 'http'
    : 'other'
}
