/**
 * By which address an application believes that it is asked. Development servers answer names that they do not know with 403, and take
 * sockets and forms from their own origin only; so an application is asked as `localhost:{port}`, and what it says of that address is said of
 * the preview's to the caller. A preview with `hostHeader: "preview"`, or with a `Host` of its own, shows the address as it is.
 */
import type { Asked } from '../../../../shared/lane/turn.ts'
import type { PreviewAddress } from './address.ts'
import type { Preview } from './find.ts'

export interface Facing {
  /** Lower-case names that do not go on as the client sent them. */
  readonly withheld: readonly string[]
  /** Names and values. */
  readonly added: readonly string[]
  /** The application is not told of the address, in `X-Forwarded-Host` neither. */
  readonly isHidden: boolean
  /** The value of a header of an answer as the caller gets it. */
  outside(name: string, value: string): string
}

const plain: Facing = { withheld: [], added: [], isHidden: false, outside: (_, value) => value }

/** What stands behind an origin in an address of it; undefined for another origin. */
const behind = (url: string, isOwn: (host: string) => boolean): string | undefined => {
  const [, host = '', rest = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  return host && isOwn(host.toLowerCase()) ? rest : undefined
}

/** What an address is for somebody outside: `//x` alone would name another host there, `\\` and tabs as browsers read them too. */
const beneath = (base: string, rest: string): string => {
  if (base === '' && /^\/\t*[/\\]/.test(rest)) return `/.${rest}`
  return `${base}${rest.startsWith('/') ? '' : '/'}${rest}`
}

/** How an application is asked. `originHeaders`: names under which it is told the preview's own origin. */
export const facingOf = (
  { port, requestHeaders, hostHeader }: Preview,
  { base }: PreviewAddress,
  { headers }: Pick<Asked, 'headers'>,
): Facing => {
  const setsHost = Object.keys(requestHeaders).some(name => name.toLowerCase() === 'host')
  if (hostHeader === 'preview' || setsHost) return plain
  const { host = '', origin, referer } = headers
  const local = `localhost:${port}`
  const asked = (name: string): boolean => name === host.toLowerCase()
  const here = (name: string): boolean => name === local
  const isOwn = origin !== undefined && behind(origin, asked) !== undefined
  const page = referer === undefined ? undefined : behind(referer, asked)
  const path = page?.startsWith(base) ? page.slice(base.length) : page
  return {
    isHidden: true,
    withheld: ['host', ...(isOwn ? ['origin'] : []), ...(page === undefined ? [] : ['referer'])],
    added: [
      'host',
      local,
      ...(isOwn ? ['origin', `http://${local}`] : []),
      ...(path === undefined ? [] : ['referer', `http://${local}${path.split('?', 1)[0]}`]),
    ],
    outside(name, value) {
      if (name === 'location' || name === 'content-location') {
        const rest = behind(value, here)
        return rest === undefined ? value : beneath(base, rest)
      }
      if (name === 'access-control-allow-origin' && isOwn) return behind(value, here) === '' ? origin : value
      return name === 'set-cookie' ? value.replace(/;\s*domain=\.?localhost(?=;|$)/i, '') : value
    },
  }
}
