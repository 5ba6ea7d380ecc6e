/** Which headers of a request go to a provider, and which of its answer come back. */
import { hopByHop, namedByConnection } from '../../../shared/http/hop-by-hop.ts'
import { fail } from '../../../shared/errors.ts'
import { filled, namesIn } from './address.ts'
import type { Provider, Values } from './providers/provider.ts'

/** A header that carries a caller's credential, or says who and where the caller is. */
const callersOwn: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-goog-user-project',
  'ocp-apim-subscription-key',
  'cookie',
  'forwarded',
  'via',
  'x-real-ip',
  'referer',
  'origin',
  // Made anew for the one who is asked.
  'host',
  'content-length',
  'expect',
  // Only what comes plain can be counted.
  'accept-encoding',
])

const isCallersOwn = (name: string): boolean => callersOwn.has(name) || name.startsWith('x-forwarded-')

/** Headers of the platform come in any vendor's spelling of this deployment, and ours besides. */
const isPlatforms = (name: string, ours: readonly string[]): boolean =>
  ours.some(prefix => name.startsWith(prefix)) || /^(?:x-)?svc-/.test(name)

/** A header value with what a connection holds. Nothing of the value is said: it may be a secret. */
const credentialValue = (template: string, values: Values): string | undefined => {
  const value = filled(template, values)
  if (value === undefined || /^[\x20-\x7e]*$/.test(value)) return value
  const reason = 'has characters that no header can carry'
  throw fail('invalid_argument', { field: `spec.secret.${namesIn(template)[0]}`, reason })
}

/** The headers that a provider's credential makes, names in lower case. Throws `invalid_argument` naming the secret. */
export const credentialHeaders = ({ headers }: Provider, values: Values): ReadonlyMap<string, string> => {
  const made = new Map<string, string>()
  for (const [name, template] of Object.entries(headers)) {
    const value = credentialValue(template, values)
    if (value !== undefined) made.set(name.toLowerCase(), value)
  }
  return made
}

export interface Sent {
  readonly provider: Provider
  readonly credential: ReadonlyMap<string, string>
  /** Lower-case prefixes of headers that are the platform's. */
  readonly ours: readonly string[]
}

/** Headers for the provider as a flat list, from raw names and values in turn. */
export const requestHeaders = (raw: readonly string[], { provider, credential, ours }: Sent): string[] => {
  const headers: string[] = []
  const named = namedByConnection(raw)
  const credentialNames = new Set(Object.keys(provider.headers).map(name => name.toLowerCase()))
  const has = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const given = (raw[i] as string).toLowerCase()
    // Servers that see headers as variables cannot tell an underscore from a hyphen.
    const name = given.replaceAll('_', '-')
    if (hopByHop.has(name) || named.has(given) || isCallersOwn(name) || isPlatforms(name, ours)) continue
    if (credentialNames.has(name)) continue
    has.add(name)
    headers.push(given, raw[i + 1] as string)
  }
  for (const [name, value] of Object.entries(provider.defaults ?? {})) if (!has.has(name)) headers.push(name, value)
  for (const [name, value] of credential) headers.push(name, value)
  headers.push('accept-encoding', 'identity')
  return headers
}

/** What a provider says about itself and the account, or for all of an origin: nobody's business here. */
const withheld: ReadonlySet<string> = new Set([
  'set-cookie',
  'set-cookie2',
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'strict-transport-security',
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
  'www-authenticate',
])

/** Headers for the client; none of them repeats a secret. */
export const answerHeaders = (
  raw: readonly string[],
  { ours, secrets }: { readonly ours: readonly string[]; readonly secrets: readonly string[] },
): string[] => {
  const headers: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const lower = name.toLowerCase()
    if (hopByHop.has(lower) || withheld.has(lower) || isPlatforms(lower, ours)) continue
    if (secrets.some(secret => value.includes(secret))) continue
    headers.push(name, value)
  }
  return headers
}
