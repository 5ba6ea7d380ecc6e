/** What the operator's provider says of itself: OpenID Connect Discovery 1.0. */
import type { Configuration } from 'openid-client'
import type { Clock } from '../../../../../shared/clock.ts'
import { providerFetch } from './fetch.ts'

export interface ProviderConfig {
  readonly issuer: string
  readonly clientId: string
  /** '' for a public client. */
  readonly clientSecret: string
  /** What the button is called. */
  readonly name: string
}

/** Asked again after this long, ms. */
const knownFor = 3_600_000

interface Deps {
  readonly config: ProviderConfig
  readonly clock: Clock
}

export const library = () => import('openid-client')

export type Library = Awaited<ReturnType<typeof library>>

const discovered = async ({ config }: Deps, client: Library): Promise<Configuration> => {
  const { issuer, clientId, clientSecret } = config
  let named: readonly string[] = []
  const found = await client.discovery(
    new URL(issuer),
    clientId,
    {},
    clientSecret ? client.ClientSecretBasic(clientSecret) : client.None(),
    {
      [client.customFetch]: providerFetch(issuer, () => named) as never,
      ...(issuer.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {}),
    },
  )
  const { token_endpoint: token, jwks_uri: keys, userinfo_endpoint: userinfo } = found.serverMetadata()
  named = [token, keys, userinfo].filter(url => url !== undefined)
  return found
}

/** Discovery that lasts; one that failed is tried again. */
export const knowing = (deps: Deps) => {
  let known: { readonly at: number; readonly found: Promise<Configuration> } | undefined
  return async (client: Library): Promise<Configuration> => {
    const now = deps.clock.now()
    if (!known || known.at < now - knownFor) {
      const found = discovered(deps, client)
      known = { at: now, found }
      found.catch(() => {
        if (known?.found === found) known = undefined
      })
    }
    return known.found
  }
}
