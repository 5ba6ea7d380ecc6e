/** `hutch key`: keys of whoever has the data directory, with or without a server running on it. */
import { keyTerms } from '../core/access/key-terms.ts'
import { personalKeys, type PersonalKey, type PersonalKeys } from '../core/access/personal-keys.ts'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { parse, s } from '../../shared/schema.ts'
import { operator } from '../core/access/bootstrap.ts'
import { loadConfig } from '../base/config.ts'
import type { ApiKey } from '../core/store/store.ts'
import { withExistingStore } from './existing-store.ts'
import { misuse, type Invocation } from './command.ts'
import { tableLines } from './table.ts'

const see = 'see hutch key --help'

interface Context extends Pick<Invocation, 'options' | 'say'> {
  readonly keys: PersonalKeys
  readonly by: ApiKey
}

const roleOf = (given: string | undefined): ApiKey['role'] | undefined => {
  if (given === undefined || given === 'admin' || given === 'member') return given
  throw misuse(`--role must be admin or member, and is "${given}"`)
}

const create = async ({ keys, by, options, say }: Context, [name]: readonly string[]): Promise<void> => {
  const given = options as Readonly<Record<string, string | undefined>>
  const terms = { name, expires_in: given['expires'], scopes: given['scopes']?.split(',') }
  const { secret } = await keys.create(by, {
    ...parse(s.object(keyTerms), terms, 'config'),
    role: roleOf(given['role']),
    workspace: given['workspace'],
    defaultWorkspace: given['default-workspace'],
  })
  say(secret)
}

const dayOf = (time: number | null | undefined): string =>
  time === null || time === undefined ? 'never' : new Date(time).toISOString().slice(0, 16)

const columns = ['ID', 'NAME', 'ROLE', 'WORKSPACE', 'DEFAULT', 'SCOPES', 'EXPIRES', 'LAST USED']

const rowOf = ({ id, person, role, workspace, defaultWorkspace, scopes, expiresAt, lastUsedAt }: PersonalKey) => [
  id,
  person.label || '-',
  role,
  workspace ?? 'all',
  defaultWorkspace ?? '-',
  scopes?.join(',') ?? 'all',
  dayOf(expiresAt),
  dayOf(lastUsedAt),
]

const list = async ({ keys, by, say }: Context): Promise<void> => {
  tableLines(columns, (await keys.list(by)).map(rowOf)).forEach(say)
}

const revoke = async ({ keys, by, say }: Context, [id = '']: readonly string[]): Promise<void> => {
  await keys.revoke(by, id)
  say(`revoked ${id}`)
}

interface Verb {
  /** How many words may follow it. */
  readonly words: readonly [number, number]
  /** Only this one takes options. */
  readonly takesOptions?: true
  run(context: Context, words: readonly string[]): Promise<void>
}

const verbs: Readonly<Record<string, Verb>> = {
  create: { words: [0, 1], takesOptions: true, run: create },
  list: { words: [0, 0], run: list },
  revoke: { words: [1, 1], run: revoke },
}

const verbOf = ([name = '', ...rest]: readonly string[], options: Invocation['options']): Verb => {
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (!verb) throw misuse(`key takes create, list or revoke; ${see}`)
  const [least, most] = verb.words
  if (rest.length < least) throw misuse(`key ${name} needs the id of a key; ${see}`)
  if (rest.length > most) throw misuse(`"${rest[most]}" is one word too many; ${see}`)
  const [option] = Object.keys(options)
  if (option && !verb.takesOptions) throw misuse(`key ${name} takes no --${option}; ${see}`)
  return verb
}

/**
 * Works on the database of the data directory, where a running server sees what changes with its next request. Throws
 * `invalid_argument`, and `unavailable` where no server of this build has been.
 */
export const run = async ({ env, cwd, options, words, say }: Invocation): Promise<number> => {
  const verb = verbOf(words, options)
  const { dataDir } = loadConfig(env, cwd)
  await withExistingStore(dataDir, async ({ tenants }) => {
    const clock = systemClock()
    const keys = personalKeys({ tenants, clock, ids: randomIds(), uses: { of: tenants.keyUse } })
    await verb.run({ keys, by: { ...operator, hash: '', createdAt: 0 }, options, say }, words.slice(1))
  })
  return 0
}
