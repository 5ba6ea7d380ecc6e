/** Sign-in with a provider of the operator's: which one, and whom it lets in. */
import { s } from '../../../shared/schema.ts'
import { domainOf, hostOf, listOf, refuse, textOf, urlOf, type Environment } from './values.ts'

export interface SignInConfig {
  /** URL of the issuer; '' for no provider. */
  readonly issuer: string
  readonly clientId: string
  /** File with the client's secret; '' for a client without. */
  readonly secretFile: string
  /** What the button says. */
  readonly name: string
  /** Domains of addresses that may come in; none for any. */
  readonly domains: readonly string[]
  /** Workspaces that whoever may come in is in, and as what; none for invited people alone. */
  readonly join: readonly { readonly workspace: string; readonly role: 'admin' | 'member' }[]
}

/** The same from a program. */
export const signInShape = s.strictObject({
  issuer: s.string(),
  clientId: s.string(),
  secretFile: s.string(),
  name: s.string(),
  domains: s.array(s.string()),
  join: s.array(s.strictObject({ workspace: s.string(), role: s.enum(['admin', 'member']) })),
})

const names = [
  'HUTCH_OIDC_CLIENT_ID',
  'HUTCH_OIDC_SECRET_FILE',
  'HUTCH_OIDC_NAME',
  'HUTCH_OIDC_DOMAINS',
  'HUTCH_OIDC_JOIN',
]

const issuerFrom = (env: Environment): string => {
  const name = 'HUTCH_OIDC_ISSUER'
  urlOf(env, name)
  // Its slash at the end belongs to its name.
  const issuer = textOf(env, name)
  const { protocol, hostname } = issuer ? new URL(issuer) : { protocol: 'https:', hostname: '' }
  if (protocol !== 'https:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname))
    throw refuse(name, 'must be an https URL: passwords of everybody are behind it')
  return issuer
}

const domainsFrom = (env: Environment): string[] => {
  const name = 'HUTCH_OIDC_DOMAINS'
  return listOf(env, name).map(word => domainOf({ [name]: word }, name))
}

const joinFrom = (env: Environment, domains: readonly string[]): SignInConfig['join'] => {
  const name = 'HUTCH_OIDC_JOIN'
  const found = listOf(env, name).map(word => {
    const [workspace = '', role = 'member', ...more] = word.split(':')
    if (!/^[a-z0-9-]{1,49}$/.test(workspace) || (role !== 'member' && role !== 'admin') || more.length > 0)
      throw refuse(name, `"${word}" is not a workspace, with :member or :admin or without`)
    return { workspace, role } as const
  })
  if (found.length > 0 && domains.length === 0)
    throw refuse('HUTCH_OIDC_DOMAINS', 'is needed for HUTCH_OIDC_JOIN: everybody whom the provider knows would come in')
  return found
}

/** `path` makes a name of a file absolute. */
export const signInFrom = (env: Environment, path: (name: string) => string): SignInConfig => {
  const issuer = issuerFrom(env)
  for (const name of names)
    if (!issuer && textOf(env, name)) throw refuse(name, 'means nothing without HUTCH_OIDC_ISSUER')
  const clientId = textOf(env, 'HUTCH_OIDC_CLIENT_ID')
  if (issuer && !clientId) throw refuse('HUTCH_OIDC_CLIENT_ID', 'is needed beside HUTCH_OIDC_ISSUER')
  const domains = domainsFrom(env)
  return {
    issuer,
    clientId,
    secretFile: textOf(env, 'HUTCH_OIDC_SECRET_FILE') && path('HUTCH_OIDC_SECRET_FILE'),
    name: (textOf(env, 'HUTCH_OIDC_NAME') || (issuer && new URL(issuer).hostname)).slice(0, 60),
    domains,
    join: joinFrom(env, domains),
  }
}

/** Hosts whose documents about clients are fetched wherever they are. */
export const clientHostsFrom = (env: Environment): string[] => {
  const name = 'HUTCH_CLIENT_HOSTS'
  return listOf(env, name).map(word => hostOf({ [name]: word }, name, '').toLowerCase())
}
