/** From a model's record to the provider that serves it: where, with which credential, under which limits. */
import type { Dispatcher } from 'undici'
import { fail, isError, messageOf } from '../../../shared/errors.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Owner, Resource, Store } from '../store/store.ts'
import { baseOf } from './address.ts'
import { credentialHeaders } from './headers.ts'
import { policiesOf, type TokenPolicy } from './limits/policy.ts'
import { maskable } from './masking.ts'
import { providerOf } from './providers/index.ts'
import type { ModelRuntime, Provider, Values } from './providers/provider.ts'
import type { Reach } from './reach.ts'
import type { AccessTokens } from './tokens.ts'
import { hasTestCredentials, openConnection, valuesOf } from './values.ts'

export interface Route {
  readonly record: Resource
  readonly runtime: ModelRuntime
  readonly provider: Provider
  readonly connection: string
  readonly values: Values
  readonly base: URL
  readonly dispatcher: Dispatcher
  /** What never comes back. */
  readonly secrets: readonly string[]
  readonly policies: readonly TokenPolicy[]
  /** Names of models of the workspace that are asked where this one fails, in their order. */
  readonly fallbacks: readonly string[]
  /** How often it is asked again. */
  readonly retries: number
  /** The headers with its credential. */
  credential(): Promise<ReadonlyMap<string, string>>
}

export interface Routes {
  /** Throws `workload_not_found`, `model_disabled`, and `model_unusable` with the reason. */
  of(owner: Pick<Owner, 'kind' | 'workspace' | 'name'>): Promise<Route>
  /** The same for a record, whether or not it is enabled. */
  ofRecord(record: Resource): Promise<Route>
}

export interface RouteDeps {
  readonly store: Pick<Store, 'resources' | 'moment'>
  readonly sealer: Sealer
  readonly reach: Reach
  readonly tokens: AccessTokens
  /** What the kinds are called that a model names. */
  readonly kinds: { readonly connection: string; readonly policy: string }
}

/** As stored, checked by the kind. */
interface ModelSpec {
  readonly enabled?: boolean
  readonly sandbox?: boolean
  readonly integrationConnections?: readonly string[] | null
  readonly policies?: readonly string[] | null
  readonly runtime?: ModelRuntime | null
  readonly fallbacks?: readonly string[] | null
  readonly retries?: number | null
}

const specOf = ({ spec }: Pick<Resource, 'spec'>): ModelSpec => spec as ModelSpec

const unusable = (name: string, reason: string, cause?: unknown) => fail('model_unusable', { name, reason }, cause)

const connectionOf = async ({ store, kinds }: RouteDeps, record: Resource): Promise<Resource> => {
  const [name] = specOf(record).integrationConnections ?? []
  if (!name) throw unusable(record.name, 'it names no integration connection')
  const { workspace } = record
  const found = await store.resources.get({ kind: kinds.connection, workspace, parent: '', name })
  if (!found) throw unusable(record.name, `its connection "${name}" is not there`)
  return found
}

const providerFor = (runtime: ModelRuntime, connection: Resource): Provider => {
  // A model that says nothing is what its connection is for, and else of the dialect that most speak.
  const found =
    providerOf(runtime.type ?? '') ?? providerOf(String(connection.spec['integration'])) ?? providerOf('openai')
  return found as Provider
}

const needValues = (record: Resource, { form }: Provider, values: Values, connection: string): void => {
  // Another address may want less than the usual one.
  const config = values['baseUrl'] ? [] : form.config
  const missing = [...config, ...form.secrets].find(({ name, required }) => required && !values[name])
  if (missing) throw unusable(record.name, `connection "${connection}" has no "${missing.name}" (${missing.label})`)
}

const build = async (deps: RouteDeps, record: Resource): Promise<Route> => {
  const spec = specOf(record)
  const runtime = spec.runtime ?? {}
  const connection = await connectionOf(deps, record)
  const provider = providerFor(runtime, connection)
  const texts = openConnection(connection, deps.sealer)
  if (spec.sandbox && !hasTestCredentials(texts))
    throw unusable(record.name, `connection "${connection.name}" has no credentials for tests (sandboxApiKey)`)
  const values = valuesOf(provider, runtime, texts, spec.sandbox)
  needValues(record, provider, values, connection.name)
  const { tokenFrom } = provider
  const policies = await policiesOf(deps, record)
  try {
    const base = baseOf(provider, values)
    const credential = tokenFrom ? undefined : credentialHeaders(provider, values)
    return {
      record,
      runtime,
      provider,
      connection: connection.name,
      values,
      base,
      dispatcher: deps.reach.to(base),
      secrets: maskable(Object.values(texts.secret)),
      policies,
      fallbacks: spec.fallbacks ?? [],
      retries: spec.retries ?? 0,
      async credential() {
        if (credential || !tokenFrom) return credential ?? new Map()
        const accessToken = await deps.tokens.get(values[tokenFrom.secret] ?? '', tokenFrom.scope)
        return credentialHeaders(provider, { ...values, accessToken })
      },
    }
  } catch (error) {
    if (!isError(error, 'invalid_argument')) throw error
    throw unusable(record.name, `connection "${connection.name}": ${messageOf(error)}`, error)
  }
}

/** Beyond, all are forgotten and it begins anew. */
const mostKnown = 1_000

export const createRoutes = (deps: RouteDeps): Routes => {
  const { store } = deps
  const known = new Map<string, { readonly moment: number; readonly route: Route }>()
  return {
    ofRecord: record => build(deps, record),
    async of({ kind, workspace, name }) {
      const moment = store.moment()
      const id = `${workspace}/${name}`
      const before = known.get(id)
      if (before?.moment === moment) return before.route
      const record = await store.resources.get({ kind, workspace, parent: '', name })
      if (!record) throw fail('workload_not_found', { kind, wanted: `"${name}" in "${workspace}"` })
      if (specOf(record).enabled === false || record.status === 'DEACTIVATED') throw fail('model_disabled', { name })
      const route = await build(deps, record)
      if (known.size >= mostKnown) known.clear()
      known.set(id, { moment, route })
      return route
    },
  }
}
