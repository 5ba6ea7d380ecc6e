/** What tokens are for: this API, and nothing else. */
import type { Configuration } from 'oidc-provider'
import { grantableScopes } from '../../../../core/access/scopes.ts'
import { signingAlgorithm } from '../signing-keys.ts'

/** Seconds. */
const validFor = 2 * 3_600

/** The API, by the names that clients have for it. */
const isThisApi = (issuer: string, resource: string): boolean => {
  const plain = resource.replace(/\/+$/, '')
  return plain === issuer || plain === `${issuer}/mcp` || plain === new URL(issuer).origin
}

export const resourcesOf = (
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
      accessTokenTTL: validFor,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingAlgorithm } },
    }
  },
})
