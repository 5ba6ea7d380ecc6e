/**
 * Access tokens that the JSON key of a Google service account is exchanged for (RFC 7523). Only keys of that type are taken, and they
 * are always shown at the same place: what else such a file can say makes a client read files, run programs and ask any address.
 */
import { createPrivateKey, createSign } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import { fail, isError, messageOf } from '../../../shared/errors.ts'
import { isObject, member, parsed, textOr } from './json.ts'
import type { Reach } from './reach.ts'
import { ask, wholeOf } from './upstream.ts'

const googleTokens = 'https://oauth2.googleapis.com/token'

export interface AccessTokens {
  /** Kept until shortly before it ends. Throws `invalid_argument` for what is no such key, `provider_failed` where it is not taken. */
  get(serviceAccount: string, scope: string): Promise<string>
}

const [lifeS, boundMs, earlyMs, mostBytes] = [3600, 15_000, 300_000, 64 * 1024]

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const refuse = (reason: string) => fail('invalid_argument', { field: 'spec.secret.serviceAccountKey', reason })

/** Throws `invalid_argument`. */
const assertionOf = (text: string, scope: string, { now, audience }: { now: number; audience: string }): string => {
  const account = parsed(text)
  if (!isObject(account) || member(account, 'type') !== 'service_account')
    throw refuse('is not the JSON key of a service account')
  const iat = Math.floor(now / 1000)
  const head = encode({ alg: 'RS256', typ: 'JWT', kid: textOr(member(account, 'private_key_id')) })
  const claims = encode({ iss: textOr(member(account, 'client_email')), scope, aud: audience, iat, exp: iat + lifeS })
  try {
    const key = createPrivateKey(textOr(member(account, 'private_key')))
    return `${head}.${claims}.${createSign('RSA-SHA256').update(`${head}.${claims}`).sign(key, 'base64url')}`
  } catch {
    // What is wrong with a key is not said: the text may hold it.
    throw refuse('has no private key that can sign')
  }
}

export const createAccessTokens = (
  { reach, clock }: { readonly reach: Reach; readonly clock: Clock },
  address = googleTokens,
): AccessTokens => {
  const known = new Map<string, { readonly token: string; readonly until: number }>()
  const exchange = async (text: string, scope: string) => {
    const url = new URL(address)
    const assertion = assertionOf(text, scope, { now: clock.now(), audience: googleTokens })
    const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
    const answer = await ask(
      {
        dispatcher: reach.to(url),
        origin: url.origin,
        path: url.pathname,
        method: 'POST',
        headers: ['content-type', 'application/x-www-form-urlencoded'],
        body: Buffer.from(form.toString()),
      },
      AbortSignal.timeout(boundMs),
    )
    const body = parsed((await wholeOf(answer, mostBytes)).toString())
    const token = textOr(member(body, 'access_token'))
    const seconds = member(body, 'expires_in')
    if (answer.status !== 200 || !token)
      throw new Error(`it answered ${answer.status}: ${textOr(member(body, 'error_description'), 'no token')}`)
    return { token, until: clock.now() + (typeof seconds === 'number' ? seconds : lifeS) * 1000 - earlyMs }
  }
  return {
    async get(text, scope) {
      const id = `${scope} ${text}`
      const before = known.get(id)
      if (before && before.until > clock.now()) return before.token
      try {
        const made = await exchange(text, scope)
        if (known.size >= 1_000) known.clear()
        known.set(id, made)
        return made.token
      } catch (error) {
        if (isError(error)) throw error
        throw fail('provider_failed', { connection: 'vertexai', reason: messageOf(error) }, error)
      }
    },
  }
}
