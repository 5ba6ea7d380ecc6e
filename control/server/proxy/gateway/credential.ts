/** The credential of a request to a workload, and what of the request the workload must not see because of it. */
import type { IncomingMessage } from 'node:http'
import { fail } from '../../../../shared/errors.ts'
import { bearerOf, credentialOf } from '../../../core/access/credential.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { WorkloadAddress } from './address.ts'
import { isBrowser, isOwnDoing } from './browsers.ts'
import { accessValues } from './cookies.ts'
import type { Withheld } from './headers.ts'
import { openPass, type Pass } from './pass.ts'

export interface WorkloadCredential {
  /** An API key, or the passes of a browser, any of which may be the right one. */
  readonly claim: { readonly key: string } | { readonly passes: readonly [Pass, ...Pass[]] }
  /** Came in the address, which a browser keeps. */
  readonly inAddress: boolean
  readonly withheld: Withheld
  /** Path and query without a key. */
  readonly target: string
}

type Request = Pick<IncomingMessage, 'headers' | 'method'>

type Place = Pick<WorkloadAddress, 'kind' | 'readings' | 'port' | 'target' | 'form'>

/** The page, with or without a slash at its end, and its socket. */
const terminal = /^\/terminal\/?$|^\/terminal\/ws\/?$/

/** Whether the terminal is meant, the one thing of a daemon that browsers reach by a login. */
export const isTerminal = ({ port, target }: Pick<WorkloadAddress, 'port' | 'target'>): boolean =>
  port === undefined && target.startsWith('/terminal') && terminal.test(target.split('?', 1)[0] as string)

/**
 * A browser cannot set headers on a WebSocket: the terminal, and nothing else, takes a key as `token` in the query. No
 * workload sees it, whether or not it was needed.
 */
const fromQuery = (place: Place): { key: string | undefined; target: string } => {
  const { target } = place
  const cut = target.indexOf('?')
  if (cut < 0 || !isTerminal(place)) return { key: undefined, target }
  const search = new URLSearchParams(target.slice(cut + 1))
  const key = search.get('token') || undefined
  search.delete('token')
  return { key, target: `${target.slice(0, cut)}${search.size ? `?${search}` : ''}` }
}

/** The key that a header has brought is no application's in the query either, however it is written there; the rest goes on as it was sent. */
export const withoutKey = (target: string, key: string): string => {
  const [path = '', ...query] = target.split('?')
  // A key has no character that has to be written otherwise.
  if (query.length === 0 || !(target.includes(key) || target.includes('%'))) return target
  const kept = query
    .join('?')
    .split('&')
    .filter(part => new URLSearchParams(part).get('token') !== key)
  return kept.length > 0 ? `${path}?${kept.join('&')}` : path
}

const isAt = ({ kind, name, workspace }: Pass, place: Place): boolean =>
  kind === place.kind && place.readings.some(one => one.name === name && one.workspace === workspace)

/** Passes that a browser sent by itself. Ports have an origin of their own only by host name. */
const passesOf = (request: Request, place: Place, sealer: Sealer, now: number): Pass[] => {
  const port = isTerminal(place) ? null : place.port
  if (port === undefined || (port !== null && place.form === 'path') || !isOwnDoing(request)) return []
  return accessValues(request.headers.cookie)
    .slice(0, 4)
    .flatMap(text => openPass(sealer, text, now) ?? [])
    .filter(pass => pass.port === port && isAt(pass, place))
}

export interface CredentialOptions {
  /** Headers that may carry one, lower case, best first. */
  readonly names: readonly string[]
  /** Headers that no workload gets from a client. */
  readonly never?: readonly string[]
  readonly sealer: Sealer
  readonly now: () => number
}

/** Reads credentials. Throws `credential_required`. */
export const credentialReader = ({ names, never = [], sealer, now }: CredentialOptions) => {
  const all = new Set([...names, ...never])
  // With a header of our own, `Authorization` belongs to the application behind us and passes.
  const ours = new Set([...names.filter(name => name !== 'authorization'), ...never])
  return (request: Request, place: Place): WorkloadCredential => {
    const { headers } = request
    const cookies = place.form === 'path' && isBrowser(request)
    const { key, target } = fromQuery(place)
    const found = credentialOf(headers, names)
    const own = found?.key ?? key
    // The key itself is never the application's, in whichever header it was sent.
    const both = found?.header === 'authorization' || (own !== undefined && bearerOf(headers.authorization) === own)
    const withheld: Withheld = { headers: both ? all : ours, cookies }
    if (own !== undefined) return { claim: { key: own }, inAddress: !found, withheld, target: withoutKey(target, own) }
    const [pass, ...more] = passesOf(request, place, sealer, now())
    if (pass) return { claim: { passes: [pass, ...more] }, inAddress: false, withheld, target }
    throw fail('credential_required', { headers: names })
  }
}
