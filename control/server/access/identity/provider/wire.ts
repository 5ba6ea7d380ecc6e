/** From the wire of the contract to that of the library and back: JSON bodies, where secrets are, statuses. */
import { fail } from '../../../../../shared/errors.ts'
import { withMeant } from '../../../../core/access/scopes.ts'

/** Fields of a token request, and what stands for its client. */
export interface TokenRequest {
  readonly fields: Record<string, string>
  readonly authorization: string | undefined
}

/** A parameter without a value is one that is not there (RFC 6749, 3.2). */
const filled = (fields: Iterable<readonly [string, string]>): Record<string, string> =>
  Object.fromEntries([...fields].filter(([, value]) => value !== ''))

/** Of a form or a JSON object of texts. Throws `invalid_body`. */
export const fieldsOf = (body: Buffer, contentType: string): Record<string, string> => {
  const text = body.toString('utf8')
  if (!/json/i.test(contentType) && !/^\s*\{/.test(text)) return filled(new URLSearchParams(text))
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    throw fail('invalid_body', { reason: 'is neither a form nor JSON' })
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw fail('invalid_body', { reason: 'must be an object' })
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(given)) if (typeof value === 'string') fields.set(name, value)
  return filled(fields)
}

const basic = (id: string, secret: string): string => {
  const part = (text: string) => encodeURIComponent(text.toWellFormed())
  return `Basic ${Buffer.from(`${part(id)}:${part(secret)}`).toString('base64')}`
}

/** The library takes a secret in one place only: it goes to the header, from wherever it is. */
export const asLibraryHasIt = ({ fields: given, authorization }: TokenRequest): TokenRequest => {
  const fields = given['grant_type'] === 'client_credentials' ? { ...given, scope: withMeant(given['scope']) } : given
  const { client_secret: secret, client_id: id, ...rest } = fields as Record<string, string>
  if (secret !== undefined && id !== undefined && authorization === undefined)
    return { fields: rest, authorization: basic(id, secret) }
  return { fields, authorization }
}

/** What clients of the contract wait for: 202 while a device is pending, and 400 for what is wrong with a secret. */
export const statusFor = (status: number, body: unknown): number => {
  const { error } = (body ?? {}) as { error?: string }
  if (error === 'authorization_pending') return 202
  return status === 401 ? 400 : status
}
