/** Request targets: the forms a proxy gets and the one a server gets. */
import { parseAuthority, type Authority } from '../../../../shared/policy/host.ts'
import type { Origin } from './origin.ts'

const absolute = /^(https?):\/\/([^/?#]*)([/?].*)?$/i

/** A target in absolute form, as proxies get it; undefined for any other. */
export const parseAbsolute = (url: string): (Authority & { scheme: 'http' | 'https'; target: string }) | undefined => {
  const [, scheme, authority, rest = '/'] = absolute.exec(url) ?? []
  if (scheme === undefined) return undefined
  const lower = scheme.toLowerCase() as 'http' | 'https'
  const where = parseAuthority(authority as string, lower === 'http' ? 80 : 443)
  return where && { ...where, scheme: lower, target: rest.startsWith('?') ? `/${rest}` : rest }
}

/** Path and query of a request on a connection of its own; undefined when it names another place than the connection's. */
export const targetIn = (origin: Origin, url: string): string | undefined => {
  if (url.startsWith('/') || url === '*') return url
  const parsed = parseAbsolute(url)
  if (parsed?.scheme !== origin.scheme || parsed.port !== origin.port) return undefined
  return parsed.host === (origin.host ?? origin.address) ? parsed.target : undefined
}
