/** The OAuth 2.0 and OpenID provider of this host, as its library is told to be one. */
import { timingSafeEqual } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Configuration, JWK } from 'oidc-provider'
import { messageOf } from '../../../../../shared/errors.ts'
import type { Log } from '../../../../../shared/log.ts'
import { grantHash } from '../../../../core/access/grants.ts'
import { hashKey } from '../../../../core/access/keys.ts'
import { grantableScopes } from '../../../../core/access/scopes.ts'
import { deviceCodePage, deviceConfirmPage, deviceDonePage, stepIsOver } from '../pages.ts'
import type { People } from '../people.ts'
import type { Documents } from './documents.ts'
import { lifetimes } from './lifetimes.ts'
import { paths } from './paths.ts'
import { registeredScope } from './registered-scope.ts'
import { resourcesOf } from './resources.ts'
import { sessionPolicy, type Policy } from './session-policy.ts'
import { adapterOf, type AdapterDeps } from './adapter.ts'

export interface ProviderDeps extends AdapterDeps {
  readonly people: Pick<People, 'find' | 'isAllowed' | 'disallow'>
  readonly log: Log
  /** `https://host/v0`: who issues, and whom tokens are for. */
  readonly issuer: string
  /** Private, the one to sign with first. */
  readonly keys: readonly JWK[]
  /** What describes clients that are named by an address. */
  readonly documents: Documents
  /** For cookies. */
  readonly cookieKey: string
}

const featuresOf = ({ issuer, documents }: ProviderDeps, refuseResource: () => Error): Configuration['features'] => ({
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  revocation: { enabled: true },
  registration: { enabled: true },
  clientIdMetadataDocument: { enabled: true, ack: 'draft-02', allowFetch: documents.allow },
  deviceFlow: {
    enabled: true,
    // Whoever has no session has no form that could be sent again.
    userCodeInputSource: (ctx, form, _out, error) =>
      void (ctx.body = error && ctx.status >= 400 ? { error_description: stepIsOver } : deviceCodePage(form, error)),
    userCodeConfirmSource: (ctx, form, client, _info, code) =>
      void (ctx.body = deviceConfirmPage(form, { client: client.clientName ?? client.clientId, code })),
    successSource: ctx => void (ctx.body = deviceDonePage()),
  },
  userinfo: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  resourceIndicators: resourcesOf(issuer, refuseResource),
})

const configuration = (
  deps: ProviderDeps,
  { refuseResource, policy }: { refuseResource: () => Error; policy: Policy },
): Configuration => ({
  adapter: adapterOf(deps),
  jwks: { keys: [...deps.keys] },
  routes: paths,
  scopes: ['openid', 'offline_access', 'email', 'profile', ...grantableScopes],
  cookies: {
    keys: [deps.cookieKey],
    long: { path: '/v0/oauth', sameSite: 'lax', httpOnly: true },
    short: { path: '/v0/oauth', sameSite: 'lax', httpOnly: true },
  },
  ttl: lifetimes,
  expiresWithSession: () => false,
  // Clients of the contract keep the refresh token that they got first, and several programs share it.
  rotateRefreshToken: false,
  extraClientMetadata: registeredScope,
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  fetch: url => deps.documents.get(url as string | URL),
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  interactions: { url: (_ctx, { uid }) => `/v0/oauth/interaction/${uid}`, policy },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: false,
  async findAccount(_ctx, sub) {
    const person = await deps.people.find(sub)
    if (!person) return undefined
    const { email, name, emailProven } = person
    return { accountId: sub, claims: () => ({ sub, email, email_verified: emailProven, name }) }
  },
  // What was revoked is asked for anew.
  async loadExistingGrant({ oidc }) {
    const { result, session, client, provider } = oidc
    const id = result?.consent?.grantId ?? (client && session?.grantIdFor(client.clientId))
    return id ? provider.Grant.find(id) : undefined
  },
  // The page around it is made by who calls.
  renderError(ctx, out) {
    ctx.type = 'json'
    ctx.body = out
  },
  features: featuresOf(deps, refuseResource),
  pkce: { required: () => true },
  extraTokenClaims: (_ctx, token) =>
    token.kind === 'ClientCredentials'
      ? { sub_type: 'service_account', grant: grantHash.client(token.clientId ?? '') }
      : { sub_type: 'user', grant: grantHash.person((token as { grantId?: string }).grantId ?? '') },
})

/** Loaded when the first of its addresses is asked for: most hosts are only ever called with keys. */
export const openProvider = async (deps: ProviderDeps) => {
  const { Provider, errors, interactionPolicy } = await import('oidc-provider')
  const provider = new Provider(
    deps.issuer,
    configuration(deps, {
      refuseResource: () => new errors.InvalidTarget(),
      policy: sessionPolicy(deps, interactionPolicy),
    }),
  )
  // What comes in is given the host and the scheme of the issuer by who calls it.
  provider.proxy = true
  // With a refresh token goes what it was given for: access tokens and what is open with them.
  provider.on('grant.revoked', ({ req }, id) => {
    const by = { actor: '', credential: '', remote: req.socket.remoteAddress ?? '', requestId: '' }
    deps.people.disallow(id, by).catch((error: unknown) => deps.log.error('grant.kept', { error }))
  })
  // What is neither a mistake of a client nor one of a person; the library would print it.
  const failed = (error: unknown) => deps.log.error('oauth.failed', { reason: messageOf(error), error })
  provider.on('server_error', (_ctx, error) => failed(error))
  ;(provider as EventEmitter).on('error', failed)
  // A session that nobody was given is not kept; the library throws when it wants to.
  const { persist } = provider.Session.prototype
  provider.Session.prototype.persist = function () {
    return typeof this.exp === 'number' ? persist.call(this) : Promise.resolve('')
  }
  // Secrets are kept as hashes.
  provider.Client.prototype.compareClientSecret = function (actual: string) {
    const [given, known] = [hashKey(actual), this.clientSecret ?? '']
    return given.length === known.length && timingSafeEqual(Buffer.from(given), Buffer.from(known))
  }
  return provider
}

export type OpenedProvider = Awaited<ReturnType<typeof openProvider>>
