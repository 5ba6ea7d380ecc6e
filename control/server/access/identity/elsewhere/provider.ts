/** Sign-in with the operator's provider: OpenID Connect Core 1.0, the code flow, with PKCE (RFC 7636) and the issuer in the answer (RFC 9207). */
import type { Clock } from '../../../../../shared/clock.ts'
import { fail } from '../../../../../shared/errors.ts'
import type { Sealer } from '../../../../core/secrets/secrets.ts'
import { stepIsOver } from '../pages.ts'
import { claimsOf, type Claims } from './claims.ts'
import { knowing, library, type ProviderConfig } from './discovery.ts'
import { translated } from './failures.ts'

/** What a browser keeps while it is away, and what for. */
export interface Begun {
  /** The address of the provider. */
  readonly url: string
  /** For a cookie: sealed, and of use to nobody without the answer. */
  readonly kept: string
}

export interface Elsewhere {
  readonly name: string
  /** `goal` comes back with the answer. */
  begin(goal: string): Promise<Begun>
  /** Throws `invalid_argument` when it was begun elsewhere or is over, `unauthenticated` for an answer that is none, `sign_in_failed`. */
  finish(query: string, kept: string | undefined): Promise<{ readonly claims: Claims; readonly goal: string }>
}

export const callbackPath = '/v0/oauth/callback'

/** A sign-in takes less. */
export const keptSeconds = 600

interface Kept {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly goal: string
  readonly until: number
}

interface Deps {
  readonly config: ProviderConfig
  readonly sealer: Sealer
  readonly clock: Clock
  readonly publicUrl: () => string
}

const opened = ({ sealer, clock }: Deps, kept: string | undefined): Kept => {
  const over = () => fail('invalid_argument', { field: '', reason: stepIsOver })
  if (!kept) throw over()
  let found: Kept
  try {
    found = JSON.parse(sealer.open(kept)) as Kept
  } catch {
    throw over()
  }
  if (found.until <= clock.now()) throw over()
  return found
}

export const createElsewhere = (deps: Deps): Elsewhere => {
  const { config, sealer, clock, publicUrl } = deps
  const know = knowing(deps)
  const back = () => `${publicUrl()}${callbackPath}`
  return {
    name: config.name,
    async begin(goal) {
      const client = await library()
      try {
        const known = await know(client)
        const [state, nonce, verifier] = [client.randomState(), client.randomNonce(), client.randomPKCECodeVerifier()]
        const until = clock.now() + keptSeconds * 1_000
        const kept: Kept = { state, nonce, verifier, goal, until }
        const url = client.buildAuthorizationUrl(known, {
          redirect_uri: back(),
          scope: 'openid email profile',
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state,
          nonce,
        })
        return { url: url.href, kept: sealer.seal(JSON.stringify(kept)) }
      } catch (error) {
        throw translated(error, client)
      }
    },
    async finish(query, given) {
      const { state, nonce, verifier, goal } = opened(deps, given)
      const client = await library()
      try {
        const known = await know(client)
        const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
        const tokens = await client.authorizationCodeGrant(known, new URL(`${back()}?${query}`), checks)
        return { claims: await claimsOf(client, known, tokens), goal }
      } catch (error) {
        throw translated(error, client)
      }
    },
  }
}
