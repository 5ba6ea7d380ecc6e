/** Proxy addresses whose secret is in a file: `http://user:{{file(/run/token)}}@proxy:3128`. */

/** The variables in which programs look for their proxy. */
export const proxyVariables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'] as const

const directive = /\{\{file\(([^()]+)\)\}\}/g
const placeholder = 'hutch-token'

export interface Upstream {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly tokenPath: string
  /** The value of `Proxy-Authorization` for a token. */
  credential(token: string): string
  /** The address with the token in it. */
  resolved(token: string): string
}

/** How many directives a value has; one without any is left alone. */
export const directivesIn = (value: string): number => [...value.matchAll(directive)].length

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** Reads a value with exactly one directive, which stands for the user or the password; undefined for any other. */
export const parseTemplate = (value: string): Upstream | undefined => {
  const [only, ...more] = [...value.matchAll(directive)]
  if (!only || more.length > 0) return undefined
  const filled = value.replace(directive, placeholder)
  if (!URL.canParse(filled)) return undefined
  const url = new URL(filled)
  const secure = url.protocol === 'https:'
  const asUser = url.username === placeholder
  if ((!secure && url.protocol !== 'http:') || (!asUser && url.password !== placeholder)) return undefined
  const user = decodeURIComponent(url.username)
  return {
    secure,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || (secure ? 443 : 80),
    tokenPath: only[1] as string,
    credential: token => (asUser ? basic(token, '') : basic(user, token)),
    resolved: token => value.replace(directive, () => encodeURIComponent(token)),
  }
}

/** `list` of hosts that need no proxy, with this machine itself among them. */
export const withLoopback = (list: string | undefined): string => {
  const entries = (list ?? '')
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
  const missing = ['localhost', '127.0.0.1', '::1'].filter(host => !entries.includes(host))
  return [...entries, ...missing].join(',')
}
