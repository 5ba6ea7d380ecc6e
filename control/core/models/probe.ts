/** Whether a model can be used, as its provider says: asked when the model or its connection has changed. */
import { isError, messageOf } from '../../../shared/errors.ts'
import { filled, placeOf } from './address.ts'
import { credentialHeaders } from './headers.ts'
import { at, isObject, listOf, member, parsed, textOr, type Json } from './json.ts'
import { masking } from './masking.ts'
import type { ModelList } from './providers/provider.ts'
import type { Reach } from './reach.ts'
import { reasonOf } from './reasons.ts'
import type { Route } from './routes.ts'
import { ask, wholeOf } from './upstream.ts'

export interface Verdict {
  readonly isUsable: boolean
  /** For the event of the record. */
  readonly message: string
  /** It may be another one in a while. */
  readonly isPassing: boolean
}

const [boundMs, mostBytes, mostWords] = [15_000, 8 * 1024 * 1024, 300]

const usable = (message: string): Verdict => ({ isUsable: true, message, isPassing: false })
const unusable = (message: string, isPassing = false): Verdict => ({ isUsable: false, message, isPassing })

interface Said {
  readonly status: number
  readonly body: Json
  /** What it said, without the connection's secrets. */
  readonly words: string
}

/** The provider's own words, wherever they stand. */
const wordsIn = (body: Json, text: string): string => {
  const error = member(body, 'error')
  const found = [at(error, 'message'), error, member(body, 'message'), member(body, 'detail')]
  return (found.map(one => textOr(one)).find(Boolean) ?? (isObject(body) ? JSON.stringify(body) : text)).trim()
}

const say = async (route: Route, url: URL, path: string, reach: Reach): Promise<Said> => {
  const { provider, values, secrets } = route
  const credential = provider.tokenFrom ? await route.credential() : credentialHeaders(provider, values)
  const headers = [...Object.entries(provider.defaults ?? {}), ...credential].flat()
  const answer = await ask(
    {
      dispatcher: reach.to(url),
      origin: url.origin,
      path,
      method: 'GET',
      headers: ['accept', 'application/json', 'accept-encoding', 'identity', ...headers],
      body: null,
    },
    AbortSignal.timeout(boundMs),
  )
  const text = masking(secrets)
    .whole(await wholeOf(answer, mostBytes))
    .toString('utf8')
  const body = parsed(text)
  return { status: answer.status, body, words: wordsIn(body, text).slice(0, mostWords) }
}

const refusal = ({ status, words }: Said): Verdict => unusable(`the provider answered ${status}: ${words}`)

const isIn = (body: Json, { ids, id }: ModelList, model: string): boolean =>
  listOf(at(body, ids)).some(one => [model, `models/${model}`].includes(textOr(member(one, id))))

/** Looks for the model among those that the provider has. */
const listed = async (route: Route, models: ModelList, reach: Reach): Promise<Verdict> => {
  const { provider, base, values, runtime } = route
  const said = await say(route, base, placeOf(provider, base, models.list, values).path, reach)
  if (said.status === 401 || said.status === 403) return refusal(said)
  if (said.status !== 200 || listOf(at(said.body, models.ids)).length === 0)
    return usable('deployed; the provider does not say which models it has')
  if (!runtime.model || isIn(said.body, models, runtime.model)) return usable('deployed')
  return unusable(`the provider has no model "${runtime.model}"`)
}

/** Whether its holder may use it, where somebody else than the provider says so. */
const gated = async (route: Route, reach: Reach): Promise<Verdict | undefined> => {
  const { provider, values } = route
  const { access } = provider
  const path = access && filled(access.path, values)
  if (!path || (values['baseUrl'] && !values['hubUrl'])) return undefined
  const said = await say(route, new URL(values['hubUrl'] || access.origin), path, reach)
  return [401, 403, 404].includes(said.status) ? refusal(said) : undefined
}

const look = async (route: Route, reach: Reach): Promise<Verdict> => {
  const { provider, base, values, runtime } = route
  const closed = await gated(route, reach)
  if (closed) return closed
  const { models } = provider
  if (!models) return usable('deployed; nobody can ask its provider which models it has')
  const one = runtime.model && models.one?.replace('{model}', () => runtime.model as string)
  if (!one) return listed(route, models, reach)
  const said = await say(route, base, placeOf(provider, base, one, values).path, reach)
  if (said.status === 200) return usable('deployed')
  if (said.status === 401 || said.status === 403) return refusal(said)
  const found = await listed(route, models, reach)
  // Of a model that is not there the provider's words say more than we do.
  return !found.isUsable && said.words ? unusable(`${found.message}: ${said.words}`) : found
}

/** Never rejects. */
export const probe = async (route: Route, reach: Reach): Promise<Verdict> => {
  try {
    return await look(route, reach)
  } catch (error) {
    if (isError(error)) return unusable(messageOf(error), error.retry)
    return unusable(`the provider gave no answer: ${reasonOf(error)}`, true)
  }
}
