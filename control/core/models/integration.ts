/** A provider type as `GET /integrations/{name}` describes it: computed from its descriptor. */
import type { Dialect } from './dialects/dialect.ts'
import { providers } from './providers/index.ts'
import type { Field, Provider } from './providers/provider.ts'

const tokensAt = ({ counts }: Dialect, root: string | undefined) => {
  const all = (names: readonly string[]) => names.map(name => `${root}.${name}`).join(' + ')
  return {
    ...(counts.sent.length > 0 ? { sent: all(counts.sent) } : {}),
    ...(counts.received.length > 0 ? { received: all(counts.received) } : {}),
  }
}

const endpointOf = (dialect: Dialect) => ({
  method: 'POST',
  token: tokensAt(dialect, dialect.usage.body[0]),
  ...(dialect.silent ? {} : { streamToken: tokensAt(dialect, dialect.usage.stream[0]), streamKey: 'data' }),
})

/** What the form of a connection asks for, a text for each field. */
const formOf = (kind: string, fields: readonly Field[]) =>
  Object.fromEntries(
    fields.map(({ name, label, required }) => [`form.${kind}.${name}`, `${label}${required ? ' (required)' : ''}`]),
  )

const integrationOf = ({ type, label, base, headers, params, endpoints, form }: Provider) => ({
  name: type,
  endpoints: Object.fromEntries(
    Object.entries(endpoints).flatMap(([path, dialect]) => (dialect.unlisted ? [] : [[path, endpointOf(dialect)]])),
  ),
  headers: { ...headers },
  ...(params ? { params: { ...params } } : {}),
  additionalInfos: {
    label,
    ...(base ? { baseUrl: base } : {}),
    ...formOf('config', form.config),
    ...formOf('secrets', form.secrets),
  },
})

export const integrations = providers.map(integrationOf)
