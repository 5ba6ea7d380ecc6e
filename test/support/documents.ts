/** The documents of management APIs, fetched from themselves, once for each set of routes in a process. */
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import { matcher, type Matcher } from '../../shared/http/match.ts'
import type { OpenApi } from '../../shared/http/openapi.ts'
import { documented, type Documented } from './as-documented.ts'

interface Api {
  readonly routes: Matcher
  readonly documented: Documented
}

/** The route that serves the document; a dispatcher without it has none. */
const served = { id: 'openapi.get', at: '/v0/openapi.json' } as const

const byRoutes = new Map<string, Promise<Documented>>()
const byDispatcher = new WeakMap<Dispatcher, Promise<Api | undefined>>()

const find = async (dispatcher: Dispatcher, ask: (target: string) => Promise<string>): Promise<Api | undefined> => {
  const ids = dispatcher.bounds.map(({ route }) => route.id)
  if (!ids.includes(served.id)) return undefined
  const key = ids.join()
  const reading = byRoutes.get(key) ?? ask(served.at).then(text => documented(JSON.parse(text) as OpenApi))
  byRoutes.set(key, reading)
  return { routes: matcher(dispatcher.bounds, 'segments'), documented: await reading }
}

/** The document of a dispatcher; undefined for one that serves none. `ask` fetches from it. */
export const documentOf = (
  dispatcher: Dispatcher,
  ask: (target: string) => Promise<string>,
): Promise<Api | undefined> => {
  const found = byDispatcher.get(dispatcher) ?? find(dispatcher, ask)
  byDispatcher.set(dispatcher, found)
  return found
}
