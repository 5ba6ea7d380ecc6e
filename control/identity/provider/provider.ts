/** The OAuth 2.0 and OpenID provider of this host, as its library is told to be one. */
import { timingSafeEqual } from 'node:crypto'
import type { Configuration, JWK } from 'oidc-provider'
import { grantHash } from '../../auth/grants.ts'
import { grantableScopes } from '../../auth/scopes.ts'
import { signingAlgorithm } from '../signing-keys.ts'
import { adapterOf, hashedSecret, type AdapterDeps } from './adapter.ts'

const hours = 3_600

/** Below `/v0`; `mount` takes that off. */
const paths = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks.json',
  revocation: '/oauth/revoke',
} as const

export interface ProviderDeps extends AdapterDeps {
  /** `https://host/v0`: who issues, and whom tokens are for. */
  readonly issuer: string
  /** Private, the one to sign with first. */
  readonly keys: readonly JWK[]
  /** For cookies. */
  readonly cookieKey: string
}

/** The API, by the names that clients have for it. */
const isThisApi = (issuer: string, resource: string): boolean => {
  const plain = resource.replace(/\/+$/, '')
  return plain === issuer || plain === `${issuer}/mcp` || plain === new URL(issuer).origin
}

const resourcesOf = (
  issuer: string,
  refuse: () => Error,
): NonNullable<Configuration['features']>['resourceIndicators'] => ({
  enabled: true,
  defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? issuer,
  useGrantedResource: () => true,
  getResourceServerInfo(_ctx, resource) {
    if (!isThisApi(issuer, resource)) throw refuse()
    return {
      scope: grantableScopes.join(' '),
      audience: issuer,
      accessTokenTTL: 2 * hours,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingAlgorithm } },
    }
  },
})

const configuration = (deps: ProviderDeps, refuseResource: () => Error): Configuration => ({
  adapter: adapterOf(deps),
  jwks: { keys: [...deps.keys] },
  routes: paths,
  scopes: ['openid', 'offline_access', ...grantableScopes],
  cookies: {
    keys: [deps.cookieKey],
    long: { path: '/v0/oauth', sameSite: 'lax', httpOnly: true },
    short: { path: '/v0/oauth', sameSite: 'lax', httpOnly: true },
  },
  ttl: { AccessToken: 2 * hours, ClientCredentials: 2 * hours },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    resourceIndicators: resourcesOf(deps.issuer, refuseResource),
  },
  pkce: { required: () => true },
  extraTokenClaims: (_ctx, token) =>
    token.kind === 'ClientCredentials'
      ? { sub_type: 'service_account', grant: grantHash.client(token.clientId ?? '') }
      : { sub_type: 'user', grant: grantHash.person((token as { grantId?: string }).grantId ?? '') },
})

/** Loaded when the first of its addresses is asked for: most hosts are only ever called with keys. */
export const openProvider = async (deps: ProviderDeps) => {
  const { Provider, errors } = await import('oidc-provider')
  const provider = new Provider(
    deps.issuer,
    configuration(deps, () => new errors.InvalidTarget()),
  )
  // What comes in is given the host and the scheme of the issuer by who calls it.
  provider.proxy = true
  // Secrets are kept as hashes.
  provider.Client.prototype.compareClientSecret = function (actual: string) {
    const [given, known] = [hashedSecret(actual), this.clientSecret ?? '']
    return given.length === known.length && timingSafeEqual(Buffer.from(given), Buffer.from(known))
  }
  return provider
}

export type OpenedProvider = Awaited<ReturnType<typeof openProvider>>
