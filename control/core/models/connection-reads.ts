/** What the provider of a connection has, asked for whoever sets up a model. */
import { fail, isError } from '../../../shared/errors.ts'
import { baseOf, placeOf } from './address.ts'
import { credentialHeaders } from './headers.ts'
import { integrations } from './integration.ts'
import { parsed, type Json } from './json.ts'
import { providerOf } from './providers/index.ts'
import type { Reach } from './reach.ts'
import { reasonOf } from './reasons.ts'
import { ask, wholeOf } from './upstream.ts'
import { valuesOf, type ConnectionTexts } from './values.ts'
import type { AccessTokens } from './tokens.ts'

const boundMs = 10_000
const mostBytes = 4 * 1024 * 1024

export interface ReadConnection extends ConnectionTexts {
  readonly name: string
  readonly integration: string
}

export interface ConnectionReads {
  /** Whether the integration is one of ours. */
  knows(integration: string): boolean
  /** How its endpoints are asked and counted. */
  endpoints(integration: string): object
  /**
   * The JSON at a path below the connection's base address. Throws `invalid_argument` for an address that is not allowed,
   * `provider_failed` for whatever goes wrong there.
   */
  read(connection: ReadConnection, path: string): Promise<Json>
}

export const connectionReads = ({ reach, tokens }: { reach: Reach; tokens: AccessTokens }): ConnectionReads => {
  const asked = async (connection: ReadConnection, path: string): Promise<Json> => {
    const provider = providerOf(connection.integration)
    if (!provider) throw new Error(`no provider type is called ${connection.integration}`)
    const values = valuesOf(provider, {}, connection)
    const base = baseOf(provider, values)
    const { tokenFrom, defaults = {} } = provider
    const accessToken = tokenFrom && (await tokens.get(values[tokenFrom.secret] ?? '', tokenFrom.scope))
    const credential = credentialHeaders(provider, accessToken ? { ...values, accessToken } : values)
    const answer = await ask(
      {
        dispatcher: reach.to(base),
        origin: base.origin,
        path: placeOf(provider, base, path, values).path,
        method: 'GET',
        headers: [
          ...Object.entries({ accept: 'application/json', 'accept-encoding': 'identity', ...defaults }),
          ...credential,
        ].flat(),
        body: null,
      },
      AbortSignal.timeout(boundMs),
    )
    const text = (await wholeOf(answer, mostBytes)).toString()
    if (answer.status < 200 || answer.status > 299) throw new Error(`it answered ${answer.status}`)
    const body = parsed(text)
    if (body === undefined) throw new Error('it did not answer JSON')
    return body
  }
  return {
    knows: integration => providerOf(integration) !== undefined,
    endpoints: integration => integrations.find(({ name }) => name === integration)?.endpoints ?? {},
    async read(connection, path) {
      try {
        return await asked(connection, path)
      } catch (error) {
        if (isError(error)) throw error
        throw fail('provider_failed', { connection: connection.name, reason: reasonOf(error) }, error)
      }
    },
  }
}
