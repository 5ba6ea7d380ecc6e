/** Requests to the outside proxy, each on its own connection. */
import { request as plainRequest, type ClientRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { hopByHop, namedByConnection } from '../../shared/http/hop-by-hop.ts'
import type { Upstream } from './template.ts'
import type { Token } from './token.ts'

const connectMs = 30_000

/** What it takes to pass something on to the outside proxy. */
export interface ProxyDeps {
  readonly upstream: Upstream
  readonly token: Token
  readonly clock: Clock
  readonly log: Log
  /** Certificates that verify the outside proxy; undefined for Node's own. */
  readonly ca: () => string | undefined
}

export interface Asked {
  readonly method: string
  /** The target in the form that proxies take: `host:port` or an absolute address. */
  readonly target: string
  /** Names and values, alternating. */
  readonly headers: readonly string[]
}

/** Opens a request; it fails when the proxy does not accept the connection within 30 s. */
export const openRequest = (
  upstream: Upstream,
  { method, target, headers }: Asked,
  deps: { clock: Clock; ca: () => string | undefined },
): ClientRequest => {
  const { secure, host, port } = upstream
  const options: RequestOptions = { host, port, method, path: target, headers: [...headers], agent: false }
  const ca = secure ? deps.ca() : undefined
  const made = secure
    ? secureRequest({ ...options, servername: host, minVersion: 'TLSv1.2', ...(ca ? { ca } : {}) })
    : plainRequest(options)
  const cancel = deps.clock.after(connectMs, () => made.destroy(new Error(`no connection within ${connectMs} ms`)))
  made.once('socket', socket => socket.once(secure ? 'secureConnect' : 'connect', cancel))
  made.once('close', cancel)
  return made
}

/** `raw` headers, names and values alternating, without those that belong to the connection they came on. */
export const withoutHopByHop = (raw: readonly string[]): string[] => {
  const named = namedByConnection(raw)
  const kept: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (!hopByHop.has(name) && !named.has(name)) kept.push(raw[i] as string, raw[i + 1] as string)
  }
  return kept
}
