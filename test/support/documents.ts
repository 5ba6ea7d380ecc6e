/** The documents of the APIs, fetched from themselves, once for each set of routes in a process. */
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import { matcher, type Matcher } from '../../shared/http/match.ts'
import type { OpenApi } from '../../shared/http/openapi.ts'
import { documented, type Documented } from './as-documented.ts'

interface Api {
  readonly routes: Matcher
  readonly documented: Documented
}

/** The routes that serve a document; a dispatcher without one of them has none. */
const serving = [
  { id: 'openapi.get', at: '/v0/openapi.json', decoding: 'segments' },
  { id: 'swagger.file', at: '/swagger/openapi.json', decoding: 'whole' },
] as const

const byRoutes = new Map<string, Promise<Documented>>()
const byDispatcher = new WeakMap<Dispatcher, Promise<Api | undefined>>()

const find = async (dispatcher: Dispatcher, ask: (target: string) => Promise<string>): Promise<Api | undefined> => {
  const ids = dispatcher.bounds.map(({ route }) => route.id)
  const served = serving.find(({ id }) => ids.includes(id))
  if (!served) return undefined
  const key = ids.join()
  const reading = byRoutes.get(key) ?? ask(served.at).then(text => documented(JSON.parse(text) as OpenApi))
  byRoutes.set(key, reading)
  return { routes: matcher(dispatcher.bounds, served.decoding), documented: await reading }
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
