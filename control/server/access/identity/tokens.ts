/**
 * Access tokens: JWTs that this host signed, verified here without asking anybody. A token says which grant it came of; the
 * grant is looked up with each use, in memory, so that a client or a person who is gone is refused at once.
 */
import { verify, type KeyObject } from 'node:crypto'
import type { Clock } from '../../../../shared/clock.ts'
import { fail, type AppError } from '../../../../shared/errors.ts'
import { s } from '../../../../shared/schema.ts'
import { hashKey } from '../../../core/access/keys.ts'
import { scopesFrom } from '../../../core/access/scopes.ts'
import type { ApiKey, Tenants } from '../../../core/store/store.ts'
import { signingAlgorithm, type SigningKeys } from './signing-keys.ts'

/** Verified tokens that are remembered; beyond, all are forgotten and verified anew. */
const most = 10_000

const header = s.object({ alg: s.literal(signingAlgorithm), kid: s.string() })
const claims = s.object({
  iss: s.string(),
  aud: s.union([s.string(), s.array(s.string())]),
  exp: s.number(),
  grant: s.string(),
  scope: s.optional(s.string()),
})

/** What a token is good for. */
interface Verified {
  readonly kid: string
  readonly issuer: string
  /** Epoch ms. */
  readonly expiresAt: number
  readonly grant: string
  readonly scopes: readonly string[]
}

export interface Tokens {
  /** Whether a credential looks like one. */
  isOne(credential: string): boolean
  /** The rights of a token; throws `unauthenticated`. */
  verify(token: string): Promise<ApiKey>
}

const looksLikeToken = (credential: string): boolean => /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(credential)

const invalid = (what: string): AppError => fail('unauthenticated', { reason: `the access token ${what}` })

const partOf = (text: string): unknown => {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

const signed = (token: string, key: KeyObject): boolean => {
  const end = token.lastIndexOf('.')
  return verify(
    'sha256',
    Buffer.from(token.slice(0, end), 'latin1'),
    key,
    Buffer.from(token.slice(end + 1), 'base64url'),
  )
}

const read = async (
  token: string,
  signingKeys: Pick<SigningKeys, 'publicKey'>,
): Promise<Verified & { aud: string[] }> => {
  const [head = '', body = ''] = token.split('.')
  const { data: known } = header.safeParse(partOf(head))
  const key = known && (await signingKeys.publicKey(known.kid))
  if (!key || !signed(token, key)) throw invalid('is not valid')
  const { data } = claims.safeParse(partOf(body))
  if (!data) throw invalid('is not one for this API')
  const { iss, aud, exp, grant, scope } = data
  const issuer = iss
  return {
    kid: known.kid,
    issuer,
    aud: [aud].flat(),
    expiresAt: exp * 1000,
    grant,
    scopes: scopesFrom(scope),
  }
}

export const createTokens = (deps: {
  signingKeys: Pick<SigningKeys, 'publicKey'>
  tenants: Pick<Tenants, 'apiKeyByHash'>
  clock: Clock
  /** Of the provider; also who tokens are for. */
  issuer: () => string
}): Tokens => {
  const { signingKeys, tenants, clock, issuer } = deps
  const known = new Map<string, Verified>()
  const verified = async (token: string): Promise<Verified> => {
    // By hash: what lies in memory is no credential.
    const id = hashKey(token)
    const before = known.get(id)
    if (before && (await signingKeys.publicKey(before.kid))) return before
    const { aud, ...found } = await read(token, signingKeys)
    if (!aud.includes(found.issuer)) throw invalid('is not one for this API')
    if (known.size >= most) known.clear()
    known.set(id, found)
    return found
  }
  return {
    isOne: looksLikeToken,
    async verify(token) {
      const found = await verified(token)
      if (found.issuer !== issuer()) throw invalid('was issued by somebody else')
      if (found.expiresAt <= clock.now()) throw invalid('has expired')
      const key = await tenants.apiKeyByHash(found.grant)
      if (!key) throw invalid('was revoked')
      return { ...key, expiresAt: found.expiresAt, grantEnds: key.expiresAt, scopes: found.scopes }
    },
  }
}
