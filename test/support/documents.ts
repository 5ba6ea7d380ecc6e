/** The documents of dispatchers, fetched from themselves, once for each set of routes in a process. */
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import { matcher, type Matcher } from '../../shared/http/match.ts'
import type { OpenApi } from '../../shared/http/openapi.ts'
import { documented, type Documented } from './as-documented.ts'

interface Api {
  readonly routes: Matcher
  readonly documented: Documented
}

/** Where each API serves its document, and how it reads addresses. */
const served = {
  'openapi.get': { at: '/v0/openapi.json', decoding: 'segments' },
  'swagger.file': { at: '/swagger/openapi.json', decoding: 'whole' },
} as const

const byRoutes = new Map<string, Promise<Documented>>()
const byDispatcher = new WeakMap<Dispatcher, Promise<Api | undefined>>()

const find = async (dispatcher: Dispatcher, ask: (target: string) => Promise<string>): Promise<Api | undefined> => {
  const ids = dispatcher.bounds.map(({ route }) => route.id)
  const known = Object.entries(served).find(([id]) => ids.includes(id))
  if (!known) return undefined
  const [, { at, decoding }] = known
  const key = ids.join()
  const reading = byRoutes.get(key) ?? ask(at).then(text => documented(JSON.parse(text) as OpenApi))
  byRoutes.set(key, reading)
  return { routes: matcher(dispatcher.bounds, decoding), documented: await reading }
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
