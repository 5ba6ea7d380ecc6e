/** Signing in to this host: its OAuth provider, and the tokens that it gives out. */
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JWK } from 'oidc-provider'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import { callInProcess, type InProcessAnswer, type InProcessRequest } from '../../../../shared/http/in-process.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Request } from '../../../../shared/route.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { AuditedBy, Person, Store } from '../../../core/store/store.ts'
import { createAttempts } from './passwords.ts'
import type { Denials } from '../audit/denials.ts'
import type { Transition } from '../../../core/transitions/transition.ts'
import { admitClaims, admitWithLink, type AdmitConfig } from './elsewhere/admit.ts'
import type { Claims } from './elsewhere/claims.ts'
import type { ProviderConfig } from './elsewhere/discovery.ts'
import { createElsewhere, type Elsewhere } from './elsewhere/provider.ts'
import { createJoining, type Door, type Joining } from './joining.ts'
import { createMembers, type Members } from './members.ts'
import { createPeople, type People } from './people.ts'
import type { DocumentConfig } from './provider/client-document.ts'
import { clientsFrom } from './provider/clients.ts'
import { createDocuments } from './provider/documents.ts'
import { openProvider, type OpenedProvider } from './provider/provider.ts'
import { createSigningKeys } from './signing-keys.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** Instead of what a request has. */
export interface Instead {
  readonly authorization?: string | undefined
  readonly body?: string | undefined
}

export type Step = (provider: OpenedProvider, request: IncomingMessage, response: ServerResponse) => Promise<void>

export interface Identity {
  readonly tokens: Tokens
  readonly people: People
  readonly members: Members
  readonly joining: Joining
  /** The operator's provider; undefined where there is none. */
  readonly elsewhere: Elsewhere | undefined
  /** Whom that provider names, as somebody here. Throws `forbidden` with the reason. */
  admit(claims: Claims, by: AuditedBy): Promise<Person>
  /** The same for who has a link in the hand, which is used up. */
  admitWith(door: Door, claims: Claims, by: AuditedBy): Promise<Person>
  /** `https://host/v0`. */
  readonly issuer: () => string
  /** What the provider answers to a request of one of its addresses. */
  answer(request: Request, instead?: Instead): Promise<InProcessAnswer>
  /** The same for a page of ours that is a step of the provider's: `step` ends the response. */
  interact(request: Request, step: Step): Promise<InProcessAnswer>
  /** The public client that has a refresh token; undefined when it is nobody's or of a client with a secret. */
  clientOf(refreshToken: string): Promise<string | undefined>
  /** What a client has registered that it may ask for; undefined for one that said nothing of it, or is none. */
  scopeOf(clientId: string | null | undefined): Promise<string | undefined>
  /** Whoever knows nobody here asks for something that is remembered. Throws `too_many_attempts`. */
  newcomer(request: Request): void
  /**
   * Somebody comes with a link, or from the operator's provider. Throws `too_many_attempts` where too many came with nothing that
   * is good; call what it returns when this one's was.
   */
  arrival(request: Request): () => void
  /** The same as `newcomer` for one who wants to be remembered for good. */
  newClient(request: Request): Promise<void>
}

export interface IdentityDeps {
  readonly store: Pick<Store, 'identity' | 'tenants' | 'resources' | 'audit'>
  /** Kind of the records that are invitations and memberships. */
  readonly userKind: string
  readonly transition: () => Pick<Transition, 'write'>
  readonly denials: Pick<Denials, 'note'>
  /** Where people may sign in besides. */
  readonly provider?: (ProviderConfig & AdmitConfig) | undefined
  /** Whom people belong to that nobody invited. */
  readonly account: string
  readonly sealer: Sealer
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Of this host, without a slash at its end. */
  readonly publicUrl: () => string
  /** Names of the public client. */
  readonly clientNames: readonly string[]
  readonly documents: DocumentConfig
  /** Text that only this host knows. */
  readonly secret: string
  /** Hashed secret of a client that is a machine of a workload; none is unless given. */
  readonly machineSecret?: (clientId: string) => Promise<string | undefined>
}

const sweptEveryMs = 3_600_000

/** Opened anew when another key signs, or the host has another address. */
const opening = (deps: IdentityDeps & { people: People }, keysOf: () => Promise<JWK[]>, issuer: () => string) => {
  const { clientNames, store, secret, clock } = deps
  const cookieKey = createHmac('sha256', secret).update('cookies of sign-in').digest('base64url')
  const knownClient = clientsFrom(clientNames, store, deps.machineSecret)
  const documents = createDocuments(deps.documents, clock)
  let swept = 0
  let opened: { readonly of: string; readonly provider: Promise<OpenedProvider> } | undefined
  return async (): Promise<OpenedProvider> => {
    const now = clock.now()
    if (now > swept + sweptEveryMs) {
      swept = now
      await store.identity.sweepOAuthRecords(now)
    }
    const keys = await keysOf()
    const of = [issuer(), ...keys.map(({ kid }) => kid)].join(' ')
    if (opened?.of === of) return opened.provider
    const provider = openProvider({ ...deps, documents, knownClient, issuer: issuer(), keys, cookieKey })
    opened = { of, provider }
    // One that could not be opened is tried again by the next request.
    provider.catch(() => {
      if (opened?.provider === provider) opened = undefined
    })
    return provider
  }
}

const form = 'application/x-www-form-urlencoded'

/** A request as the provider is to see it: at the address of the issuer, whatever stood before it. */
const seen = (
  { method, rawPath, rawQuery, headers, remote }: Request,
  issuer: string,
  { authorization, body }: Instead,
): InProcessRequest => {
  const { host, protocol } = new URL(issuer)
  const query = rawQuery ? `?${rawQuery}` : ''
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const { authorization: _sent, 'content-length': _length, 'content-type': type, ...rest } = headers
  return {
    method,
    url: `${rawPath.replace(/^\/v0/, '')}${query}`,
    originalUrl: `${rawPath}${query}`,
    headers: {
      ...rest,
      host,
      'x-forwarded-host': host,
      'x-forwarded-proto': protocol.slice(0, -1),
      ...(authorization === undefined ? {} : { authorization }),
      ...(bytes
        ? {
            'content-type': /json/.test(String(type)) && body?.startsWith('{') ? 'application/json' : form,
            'content-length': String(bytes.length),
          }
        : {}),
    },
    remote,
    body: bytes,
  }
}

/** From one place in a quarter of an hour, and registered clients of all. */
const [mostSteps, mostArrivals, mostClients, mostClientsInAll] = [300, 50, 100, 10_000]

export const createIdentity = (deps: IdentityDeps): Identity => {
  const issuer = () => `${deps.publicUrl()}/v0`
  const signingKeys = createSigningKeys(deps)
  const people = createPeople(deps)
  const members = createMembers({ ...deps, now: deps.clock.now })
  const joining = createJoining({ ...deps, people, members })
  const { provider: config } = deps
  const admitting = () => {
    if (!config) throw fail('not_found', { kind: 'provider', name: 'of this host' })
    return { ...deps, members, config }
  }
  const newcomers = createAttempts(deps.clock)
  const arrivals = createAttempts(deps.clock)
  const clients = createAttempts(deps.clock)
  const open = opening({ ...deps, people }, async () => (await signingKeys.privateKeys()) as JWK[], issuer)
  return {
    issuer,
    people,
    members,
    joining,
    elsewhere: config && createElsewhere({ ...deps, config }),
    admit: async (claims, by) => admitClaims(admitting(), claims, by),
    admitWith: async (door, claims, by) => admitWithLink({ ...admitting(), joining }, door, claims, by),
    newcomer: request => newcomers.begin(request.remote, mostSteps),
    arrival({ remote }) {
      arrivals.begin(remote, mostArrivals)
      return () => arrivals.takeBack(remote)
    },
    async newClient(request) {
      clients.begin(request.remote, mostClients)
      if ((await deps.store.identity.countOAuthRecords('Client')) >= mostClientsInAll)
        throw fail('too_many_attempts', { retryAfterS: 3_600 })
    },
    tokens: createTokens({ ...deps, ...deps.store, signingKeys, issuer }),
    answer: async (request, instead = {}) => callInProcess((await open()).callback(), seen(request, issuer(), instead)),
    async interact(request, step) {
      const provider = await open()
      return callInProcess((message, response) => step(provider, message, response), seen(request, issuer(), {}))
    },
    async clientOf(refreshToken) {
      const provider = await open()
      const found = await provider.RefreshToken.find(refreshToken)
      const client = found?.clientId ? await provider.Client.find(found.clientId) : undefined
      return client?.clientAuthMethod === 'none' ? client.clientId : undefined
    },
    async scopeOf(clientId) {
      // The document of one that is named by an address is fetched by the request itself, if at all.
      if (!clientId || clientId.startsWith('https://')) return undefined
      return (await (await open()).Client.find(clientId))?.scope
    },
  }
}
