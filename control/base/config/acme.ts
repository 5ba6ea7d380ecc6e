/** Certificates from an authority that speaks ACME: which one, and how it is shown whose a name is. */
import { s } from '../../../shared/schema.ts'
import { nameServerOf, type NameServer } from './networks.ts'
import { integerOf, listOf, refuse, textOf, urlOf, type Environment } from './values.ts'

const challengeTypes = ['http-01', 'tls-alpn-01', 'dns-01'] as const
export type ChallengeType = (typeof challengeTypes)[number]

export interface AcmeConfig {
  /** URL of the authority's directory; '' for no ACME. */
  readonly directory: string
  /** Whom the authority writes to; '' for nobody. */
  readonly email: string
  /** In the order they are tried; `dns-01` is the one for wildcards. */
  readonly challenges: readonly ChallengeType[]
  /** Program that puts TXT records into the DNS and takes them out; '' for none. */
  readonly dnsHook: string
  /** A name server that takes updates; undefined for none. */
  readonly dnsUpdates: AcmeDnsUpdates | undefined
}

/** Updates of the DNS by RFC 2136. */
export interface AcmeDnsUpdates {
  readonly server: NameServer
  /** File of the key that they are signed with. */
  readonly keyFile: string
  /** How long it takes until every name server of the zone has them, ms. */
  readonly settleMs: number
}

/** The same from a program. */
export const acmeShape = s.strictObject({
  directory: s.string(),
  email: s.string(),
  challenges: s.array(s.enum(challengeTypes)),
  dnsHook: s.string(),
  dnsUpdates: s.optional(
    s.strictObject({
      server: s.strictObject({ host: s.string(), port: s.int() }),
      keyFile: s.string(),
      settleMs: s.int(),
    }),
  ),
})

const known: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
}

const names = [
  'HUTCH_ACME_EMAIL',
  'HUTCH_ACME_CHALLENGES',
  'HUTCH_ACME_DNS_HOOK',
  'HUTCH_ACME_DNS_SERVER',
  'HUTCH_ACME_DNS_KEY',
  'HUTCH_ACME_DNS_SECONDS',
]

const isChallenge = (word: string): word is ChallengeType => challengeTypes.some(type => type === word)

const challengesFrom = (env: Environment, changesDns: boolean): ChallengeType[] => {
  const given = listOf(env, 'HUTCH_ACME_CHALLENGES')
  const wrong = given.find(word => !isChallenge(word))
  if (wrong !== undefined)
    throw refuse('HUTCH_ACME_CHALLENGES', `"${wrong}" must be one of ${challengeTypes.join(', ')}`)
  if (given.includes('dns-01') && !changesDns)
    throw refuse('HUTCH_ACME_DNS_HOOK', 'is needed for dns-01, or HUTCH_ACME_DNS_SERVER')
  if (given.length > 0) return given.filter(isChallenge)
  return ['http-01', 'tls-alpn-01', ...(changesDns ? (['dns-01'] as const) : [])]
}

const updatesFrom = (env: Environment, path: (name: string) => string): AcmeDnsUpdates | undefined => {
  const text = textOf(env, 'HUTCH_ACME_DNS_SERVER')
  const keyFile = textOf(env, 'HUTCH_ACME_DNS_KEY') && path('HUTCH_ACME_DNS_KEY')
  if (!text) {
    for (const name of ['HUTCH_ACME_DNS_KEY', 'HUTCH_ACME_DNS_SECONDS'])
      if (textOf(env, name)) throw refuse(name, 'means nothing without HUTCH_ACME_DNS_SERVER')
    return undefined
  }
  const server = nameServerOf(text)
  if (!server) throw refuse('HUTCH_ACME_DNS_SERVER', `"${text}" is not an IPv4 address, with or without a port`)
  if (!keyFile) throw refuse('HUTCH_ACME_DNS_KEY', 'is needed beside HUTCH_ACME_DNS_SERVER')
  if (textOf(env, 'HUTCH_ACME_DNS_HOOK'))
    throw refuse('HUTCH_ACME_DNS_HOOK', 'and HUTCH_ACME_DNS_SERVER are two ways for one thing; keep one')
  const settleMs = integerOf(env, 'HUTCH_ACME_DNS_SECONDS', { fallback: 0, min: 0, max: 600 }) * 1000
  return { server, keyFile, settleMs }
}

/** `path` makes a name of a file absolute. */
export const acmeFrom = (env: Environment, path: (name: string) => string): AcmeConfig => {
  const text = textOf(env, 'HUTCH_ACME_DIRECTORY')
  const directory = known[text] ?? urlOf(env, 'HUTCH_ACME_DIRECTORY')
  for (const name of names)
    if (!directory && textOf(env, name)) throw refuse(name, 'means nothing without HUTCH_ACME_DIRECTORY')
  const dnsHook = textOf(env, 'HUTCH_ACME_DNS_HOOK') && path('HUTCH_ACME_DNS_HOOK')
  const dnsUpdates = updatesFrom(env, path)
  return {
    directory,
    email: textOf(env, 'HUTCH_ACME_EMAIL'),
    challenges: challengesFrom(env, dnsHook !== '' || dnsUpdates !== undefined),
    dnsHook,
    dnsUpdates,
  }
}
