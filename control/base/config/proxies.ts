/** The usual proxy variables. */
import { textOf, type Environment } from './values.ts'

export interface Proxies {
  /** Of `http:` and `https:` addresses, as they were given; '' for none. */
  readonly http: string
  readonly https: string
  /** Hosts that are reached without one: names with those below them, addresses, `name:port`; `*` for all. */
  readonly except: readonly string[]
}

/** Lower case goes first, as in other programs. */
const either = (env: Environment, name: string): string => textOf(env, name) || textOf(env, name.toUpperCase())

/** Not checked here: other programs may understand what a pull does not. */
export const proxiesFrom = (env: Environment): Proxies => ({
  http: either(env, 'http_proxy'),
  https: either(env, 'https_proxy'),
  except: either(env, 'no_proxy')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean),
})
