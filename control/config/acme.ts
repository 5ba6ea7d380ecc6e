/** Certificates from an authority that speaks ACME: which one, and how it is shown whose a name is. */
import { s } from '../../shared/schema.ts'
import { listOf, refuse, textOf, urlOf, type Environment } from './values.ts'

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
}

/** The same from a program. */
export const acmeShape = s.strictObject({
  directory: s.string(),
  email: s.string(),
  challenges: s.array(s.enum(challengeTypes)),
  dnsHook: s.string(),
})

const known: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
}

const names = ['HUTCH_ACME_EMAIL', 'HUTCH_ACME_CHALLENGES', 'HUTCH_ACME_DNS_HOOK']

const isChallenge = (word: string): word is ChallengeType => challengeTypes.some(type => type === word)

const challengesFrom = (env: Environment, dnsHook: string): ChallengeType[] => {
  const given = listOf(env, 'HUTCH_ACME_CHALLENGES')
  const wrong = given.find(word => !isChallenge(word))
  if (wrong !== undefined)
    throw refuse('HUTCH_ACME_CHALLENGES', `"${wrong}" must be one of ${challengeTypes.join(', ')}`)
  if (given.includes('dns-01') && !dnsHook) throw refuse('HUTCH_ACME_DNS_HOOK', 'is needed for dns-01')
  if (given.length > 0) return given.filter(isChallenge)
  return ['http-01', 'tls-alpn-01', ...(dnsHook ? (['dns-01'] as const) : [])]
}

/** `path` makes a name of a file absolute. */
export const acmeFrom = (env: Environment, path: (name: string) => string): AcmeConfig => {
  const text = textOf(env, 'HUTCH_ACME_DIRECTORY')
  const directory = known[text] ?? urlOf(env, 'HUTCH_ACME_DIRECTORY')
  for (const name of names)
    if (!directory && textOf(env, name)) throw refuse(name, 'means nothing without HUTCH_ACME_DIRECTORY')
  const dnsHook = textOf(env, 'HUTCH_ACME_DNS_HOOK') && path('HUTCH_ACME_DNS_HOOK')
  return {
    directory,
    email: textOf(env, 'HUTCH_ACME_EMAIL'),
    challenges: challengesFrom(env, dnsHook),
    dnsHook,
  }
}
