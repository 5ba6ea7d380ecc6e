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

const isRecord = ([type = 0, major = 3]: Buffer): boolean => type >= 20 && type <= 24 && major === 3
const isOldHello = ([first = 0, , type = 1, major = 3, minor = 2]: Buffer): boolean =>
  (first & 0x80) !== 0 && type === 1 && (major === 3 || (major === 0 && minor === 2))

/** `bytes` are the first of the client, at least one. */
export const classify = (bytes: Buffer): Protocol => {
  // Any record, and the hello of SSL 2.0: what is no proper hello is refused there.
  if (isRecord(bytes) || isOldHello(bytes)) return bytes.length < 5 ? 'more' : 'tls'
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
