/** The token of a request to a private preview, and the request without it: an application never sees it. */
import type { Asked } from '../../../../shared/lane/turn.ts'
import { headerOf } from '../../../base/wire/names.ts'

export interface TokenNames {
  /** Lower case. */
  readonly headers: readonly string[]
  readonly queries: readonly string[]
  readonly cookies: readonly string[]
}

export interface TokenRead {
  readonly token: string | undefined
  /** It came with the address: a browser needs a cookie for what follows. */
  readonly fromQuery: boolean
  readonly target: string
  /** The cookies of the application; undefined for none. */
  readonly cookies: string | undefined
}

const nameIn = (pair: string): string => {
  const [name = ''] = pair.split('=', 1)
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    // Not encoded as names of ours would be.
    return name
  }
}

const fromQuery = (target: string, names: readonly string[]) => {
  const cut = target.indexOf('?')
  if (cut < 0) return { target, token: undefined }
  const pairs = target.slice(cut + 1).split('&')
  const own = pairs.filter(pair => names.includes(nameIn(pair)))
  if (own.length === 0) return { target, token: undefined }
  const rest = pairs.filter(pair => !own.includes(pair)).join('&')
  const token = new URLSearchParams(own[0]).values().next().value
  return { target: `${target.slice(0, cut)}${rest ? `?${rest}` : ''}`, token }
}

const fromCookies = (header: string | undefined, names: readonly string[]) => {
  const pairs = (header ?? '').split(';').map(pair => pair.trim())
  const isOwn = (pair: string): boolean => names.some(name => pair.startsWith(`${name}=`))
  const own = pairs.find(isOwn)
  const rest = pairs.filter(pair => pair && !isOwn(pair)).join('; ')
  return { token: own?.slice(own.indexOf('=') + 1), cookies: rest || undefined }
}

/**
 * Whether a page of the preview itself asks, or a person goes there. Previews are neighbours below one domain: a browser sends cookies of one
 * with what a page of another one asks for, and `SameSite` says nothing against it. Old browsers say only the origin, programs neither.
 */
const isOwn = ({ headers, method }: Pick<Asked, 'headers' | 'method'>): boolean => {
  const { host = '', origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': to } = headers
  if (method === 'GET' && mode === 'navigate' && to === 'document') return true
  // Where pages send no referrer, an origin may be `null` that is the preview's own.
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  return origin === undefined || origin.replace(/^https?:\/\//i, '').toLowerCase() === host.toLowerCase()
}

/** Header before query before cookie; cookies are neither read nor passed on where `withCookies` says no. */
export const readToken = (
  request: Pick<Asked, 'headers' | 'method'>,
  given: string,
  names: TokenNames & { readonly withCookies: boolean },
): TokenRead => {
  const { headers } = request
  const header = headerOf(headers, names.headers)
  const { target, token: query } = fromQuery(given, names.queries)
  const { token, cookies } = fromCookies(names.withCookies ? headers.cookie : undefined, names.cookies)
  const cookie = token !== undefined && isOwn(request) ? token : undefined
  return { token: header || query || cookie || undefined, fromQuery: !header && Boolean(query), target, cookies }
}
