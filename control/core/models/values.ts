/** What a connection says, as its provider's descriptor asks for it. */
import type { Sealer } from '../secrets/secrets.ts'
import type { Resource } from '../store/store.ts'
import { keyField, type ModelRuntime, type Provider, type Values } from './providers/provider.ts'

type Texts = Readonly<Record<string, string>>

/** `api_key`, `API_KEY` and `apiKey` are one name. */
const plain = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()

/** Further names that people give to the one key of a provider. */
const keyNames: ReadonlySet<string> = new Set(['apikey', 'key', 'token', 'accesstoken', 'secret'])

const isKeyName = (name: string, { type }: Provider): boolean => {
  const word = plain(name)
  return keyNames.has(word) || (word.startsWith(plain(type)) && keyNames.has(word.slice(plain(type).length)))
}

/** What stands for test credentials begins with this word. */
const testWord = /^(?:sandbox|test)[_-]?(?=[a-z0-9])/i

const named = (texts: Texts, isTest: boolean): [string, string][] =>
  Object.entries(texts).flatMap(([name, value]) => {
    const isOfTests = testWord.test(name)
    if (isTest && isOfTests) return [[name.replace(testWord, ''), value] as [string, string]]
    return isOfTests ? [] : [[name, value] as [string, string]]
  })

export interface ConnectionTexts {
  readonly config: Texts
  /** Opened. */
  readonly secret: Texts
  /** All of it is for tests. */
  readonly sandbox: boolean
}

/** As stored. */
interface StoredConnection {
  readonly config?: Texts | null
  /** Each of them sealed. */
  readonly secret?: Texts | null
  readonly sandbox?: boolean | null
}

export const openConnection = (record: Pick<Resource, 'spec'>, { open }: Pick<Sealer, 'open'>): ConnectionTexts => {
  const { config, secret, sandbox } = record.spec as StoredConnection
  return {
    config: config ?? {},
    secret: Object.fromEntries(Object.entries(secret ?? {}).map(([name, text]) => [name, open(text)])),
    sandbox: sandbox === true,
  }
}

/** Whether a connection has credentials for tests. */
export const hasTestCredentials = ({ secret, sandbox }: ConnectionTexts): boolean =>
  sandbox || Object.keys(secret).some(name => testWord.test(name))

/** The values of a descriptor's templates, by its own names. Later ones win: those for tests, where they are asked for. */
export const valuesOf = (
  provider: Provider,
  runtime: ModelRuntime,
  connection: ConnectionTexts,
  isTest = false,
): Values => {
  const fields = [...provider.form.config, ...provider.form.secrets].map(({ name }) => name)
  const byPlain = new Map(fields.map(name => [plain(name), name]))
  const values: Record<string, string> = {}
  const put = (name: string, value: string, isSecret: boolean) => {
    const field = byPlain.get(plain(name)) ?? (isSecret && isKeyName(name, provider) ? keyField : name)
    if (value) values[field] = value
  }
  const { model, endpointName, organization } = runtime
  for (const [name, value] of Object.entries({ model, endpointName, organization })) if (value) values[name] = value
  const passes = isTest && !connection.sandbox ? [false, true] : [false]
  for (const test of passes) {
    for (const [name, value] of named(connection.config, test)) put(name, value, false)
    const secrets = named(connection.secret, test)
    for (const [name, value] of secrets) put(name, value, true)
    const [only] = secrets
    // Whatever it is called, one secret is the key.
    if (only && secrets.length === 1 && provider.form.secrets.length === 1)
      put(provider.form.secrets[0]?.name ?? keyField, only[1], true)
  }
  // The model says which organization it is for.
  if (organization) values['organization'] = organization
  return values
}
