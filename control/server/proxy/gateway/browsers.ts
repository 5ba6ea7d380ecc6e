/** What browsers say about a request by themselves, and pages cannot forge. */
import type { IncomingMessage } from 'node:http'

type Asked = Pick<IncomingMessage, 'headers' | 'method'>

/** Whether a browser asks. Node's `fetch` sends `Sec-Fetch-Mode` too, but nothing else sends `Sec-Fetch-Site`. */
export const isBrowser = ({ headers }: Asked): boolean =>
  'sec-fetch-site' in headers || (headers['user-agent'] ?? '').startsWith('Mozilla/')

const isOwn = (origin: string, host: string | undefined): boolean => URL.parse(origin)?.host === host?.toLowerCase()

/**
 * Whether the request is one of the origin's own pages or what a person has opened: then its cookie counts. Sandboxes
 * are of one site, so that `SameSite` alone would let a page of one use another in its visitor's name.
 */
export const isOwnDoing = ({ headers, method = 'GET' }: Asked): boolean => {
  const { origin, host } = headers
  if (origin !== undefined && !isOwn(origin, host)) return false
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return true
  const opened = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return opened && (method === 'GET' || method === 'HEAD')
}
