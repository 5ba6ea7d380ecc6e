/** Makes the head of a request unambiguous before anything else reads it (RFC 9112, section 3.2). */
import type { IncomingMessage } from 'node:http'

/** Number of Host headers; with more than one, two readers of a request could disagree. */
const hostsOf = (raw: readonly string[]): number => {
  let count = 0
  for (let i = 0; i < raw.length; i += 2) if ((raw[i] as string).toLowerCase() === 'host') count++
  return count
}

/**
 * Turns `GET http://host/path`, as clients of a proxy send it, into `GET /path`. False when the request must be
 * refused: several Host headers, a target that names another host than the header, or neither a path nor `*`; and for what else node's
 * parser lets through: the word HTTP/2.0 where HTTP/1.1 is spoken, and encodings of which nobody knows where they end (section 6.3).
 */
export const settleTarget = (message: IncomingMessage): boolean => {
  if (hostsOf(message.rawHeaders) > 1 || (message.httpVersionMajor !== 1 && !('stream' in message))) return false
  const { 'transfer-encoding': coding = 'chunked' } = message.headers
  if (coding.toLowerCase() !== 'chunked') return false
  const target = message.url ?? ''
  if (target.startsWith('/') || target === '*') return true
  const match = /^(https?):\/\/([^/?#]*)([^#]*)$/i.exec(target)
  const usual = match?.[1]?.length === 4 ? /:80$/ : /:443$/
  const authority = (host = '') => host.toLowerCase().replace(usual, '')
  if (!match || authority(match[2]) !== authority(message.headers.host)) return false
  const rest = match[3] as string
  message.url = rest.startsWith('/') ? rest : `/${rest}`
  return true
}
