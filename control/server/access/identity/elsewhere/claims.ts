/** What an ID token says. */
import type { Configuration } from 'openid-client'
import { fail } from '../../../../../shared/errors.ts'
import type { Library } from './discovery.ts'

/** Who somebody is there. */
export interface Claims {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly emailVerified: boolean
  readonly name: string
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

/** An address that is not in the ID token is asked for. */
export const claimsOf = async (
  client: Library,
  known: Configuration,
  tokens: Awaited<ReturnType<Library['authorizationCodeGrant']>>,
): Promise<Claims> => {
  const claims = tokens.claims()
  if (!claims) throw fail('unauthenticated', { reason: 'the answer of the provider has no ID token' })
  const { iss: issuer, sub: subject } = claims
  const more = claims['email'] === undefined ? await client.fetchUserInfo(known, tokens.access_token, subject) : claims
  const email = textIn(more['email']).trim().toLowerCase()
  return { issuer, subject, email, emailVerified: more['email_verified'] === true, name: textIn(more['name']) || email }
}
