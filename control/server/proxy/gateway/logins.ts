/**
 * Logins of browsers: a ticket in an address, good once and for a minute, is exchanged for a cookie that no script can read.
 * Both are good for one port of one record, or for its terminal, and as long as the key that they were made with.
 */
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { DataPlane } from '../../../core/records/kind.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { ApiKey, Resource } from '../../../core/store/store.ts'
import { accessCookie } from './cookies.ts'
import { apiOrigin, workloadOrigin, type OriginOptions } from './origins.ts'
import { sealPass, type Pass } from './pass.ts'
import { createTickets } from './tickets.ts'

/** Where tickets are exchanged, below the root of every host name. */
export const openPath = '/_hutch/open'

/** Where people log in, at the origin of the API. */
export const loginPath = '/_hutch/login'

const passMs = 8 * 60 * 60_000

/** What is opened. */
export interface Opening {
  readonly record: Resource
  /** Null for the terminal. */
  readonly port: number | null
  /** Path and query at that port, or the query of the terminal's page; begins with a slash or is ''. */
  readonly rest: string
  readonly key: Pick<ApiKey, 'hash' | 'expiresAt'>
}

export interface Opened {
  /** Value of `Set-Cookie`. */
  readonly cookie: string
  /** Path and query to go to. */
  readonly location: string
}

export interface Logins {
  /**
   * An address that opens it once, for who came by `host`; '' for who came by no address. Throws `invalid_argument` where
   * browsers do not reach ports.
   */
  link(opening: Opening, host: string): { readonly url: string; readonly expiresAt: number }
  /** The cookie at once, for an address of the same origin. */
  open(opening: Opening): Opened
  /** Exchanges a ticket. Throws `unauthenticated`. */
  exchange(ticket: string, host: string): Opened
}

export interface LoginDeps extends OriginOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Pick<Ids, 'secret'>
  readonly sealer: Sealer
  /** How records of a kind are addressed. */
  readonly planeOf: (kind: string) => { readonly plural: string; readonly dataPlane: DataPlane }
}

interface Ticket {
  readonly opening: Opening
  readonly origin: string
}

const open = ({ clock, sealer, planeOf, publicUrl }: LoginDeps, { record, port, rest, key }: Opening): Opened => {
  const { kind, workspace, name, uid: owner } = record
  const expiresAt = Math.min(clock.now() + passMs, key.expiresAt ?? Number.MAX_SAFE_INTEGER)
  const pass: Pass = { keyHash: key.hash, kind, workspace, name, owner, port, expiresAt }
  const path = port === null ? `/${workspace}/${planeOf(kind).plural}/${name}/terminal` : `/port/${port}`
  const seconds = Math.floor((expiresAt - clock.now()) / 1000)
  const secure = publicUrl().startsWith('https:') ? '; Secure' : ''
  const cookie = `${accessCookie}=${sealPass(sealer, pass)}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
  return { cookie, location: `${path}${rest}` }
}

const originOf = (deps: LoginDeps, { record, port }: Opening, host: string): string => {
  if (port === null) return apiOrigin(host, deps)
  const { dataPlane } = deps.planeOf(record.kind)
  const { label } = dataPlane
  const origin = workloadOrigin(record, { label, region: dataPlane.region(record) }, host, deps)
  if (origin !== undefined) return origin
  const reason = 'browsers reach ports by host name: configure HUTCH_SANDBOX_DOMAIN, or come by localhost'
  throw fail('invalid_argument', { field: 'port', reason })
}

export const createLogins = (deps: LoginDeps): Logins => {
  const tickets = createTickets<Ticket>(deps)
  return {
    link(opening, host) {
      const origin = originOf(deps, opening, host || new URL(deps.publicUrl()).host)
      const { ticket, expiresAt } = tickets.give({ opening, origin })
      return { url: `${origin}${openPath}?ticket=${ticket}`, expiresAt }
    },
    open: opening => open(deps, opening),
    exchange(ticket, host) {
      const found = tickets.take(ticket)
      if (!found) throw fail('unauthenticated', { reason: 'this address was used already, or is older than a minute' })
      // At another host name the cookie would be for somebody else.
      if (new URL(found.origin).host !== host.toLowerCase())
        throw fail('unauthenticated', { reason: 'this address is for another host name' })
      return open(deps, found.opening)
    },
  }
}
