/**
 * A provider type: everything that is known of it is in its descriptor, one file beside this one each. Nothing else asks for a
 * type by its name; `GET /integrations/{name}` and the form of a connection are computed from it.
 */
import type { Dialect } from '../dialects/dialect.ts'
import type { Translation } from '../translate/translation.ts'

/** What a model's `runtime` says. */
export interface ModelRuntime {
  readonly type?: string | null
  readonly model?: string | null
  readonly organization?: string | null
  readonly endpointName?: string | null
  readonly generation?: string | null
}

/** Settings and opened secrets of the connection, with the model's runtime: `apiKey`, `model`, `endpointName`. */
export type Values = Readonly<Record<string, string>>

export interface Field {
  readonly name: string
  readonly label: string
  readonly required: boolean
}

/** Where a provider lists its models, and where their names stand in that. */
export interface ModelList {
  readonly list: string
  readonly one?: string
  readonly ids: string
  readonly id: string
}

export interface Provider {
  readonly type: string
  readonly label: string
  /** Base address, with `{{name}}` for values. None: a connection has to name it as `baseUrl`. */
  readonly base?: string | undefined
  /** Versions that begin the provider's paths. */
  readonly versions: readonly string[]
  /** What a base address has at its end where its owner has left that out; '' for nothing. */
  readonly version: string
  /** What clients put before a path and the base has already. */
  readonly prefixes?: readonly (RegExp | string)[]
  /** Headers with the credential, as `{{name}}`. One whose values are missing is left out. */
  readonly headers: Readonly<Record<string, string>>
  /** Headers that a request has that brings none of its own. */
  readonly defaults?: Readonly<Record<string, string>>
  /** Members of the query that a request has that brings none of its own. */
  readonly params?: Readonly<Record<string, string>>
  /** The value `accessToken` is got with this JSON key, for these scopes. */
  readonly tokenFrom?: { readonly secret: string; readonly scope: string }
  /** By path below the version: the ends of paths that are known. `{model}` stands for one segment. */
  readonly endpoints: Readonly<Record<string, Dialect>>
  readonly form: { readonly config: readonly Field[]; readonly secrets: readonly Field[] }
  /** Where it lists what it has, and one of them; none where it does not. */
  readonly models?: ModelList | undefined
  /** Where it is asked whether the holder of the key may use the model, which somebody else decides; `hubUrl` stands in for the origin. */
  readonly access?: { readonly origin: string; readonly path: string }
  /** How chats of OpenAI's dialect are said to it (generation mk3). None: it has no chats. */
  readonly translation?: Translation
  /** What was tried: a real client and a mock, or nothing but its published specification. */
  readonly verified: 'client' | 'specification'
}

/** The secret that most providers ask for. */
export const keyField = 'apiKey'

const key = (required = true): Field => ({ name: keyField, label: 'API key', required })

export const baseUrlField: Field = {
  name: 'baseUrl',
  label: 'Base address, where it is not the usual one',
  required: false,
}

export const keyForm = (more: readonly Field[] = [], required = true): Provider['form'] => ({
  config: [...more, baseUrlField],
  secrets: [key(required)],
})
