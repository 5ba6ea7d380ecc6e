/** Holds answers that came over a socket to the OpenAPI document of their API, which the API itself is asked for. */
import { matcher } from '../../shared/http/match.ts'
import type { OpenApi } from '../../shared/http/openapi.ts'
import { decodePath } from '../../shared/http/request.ts'
import type { Reply } from '../../shared/route.ts'
import { sandboxRoutes } from '../../shared/wire/index.ts'
import { wireNames } from '../../shared/wire-names.ts'
import { swaggerRoutes } from '../../daemon/swagger/routes.ts'
import { documented, type Answered } from './as-documented.ts'

/** What is not as the document has it; undefined when all is, or when the path is none of the document's. `target` may have a query. */
export type ProblemOf = (method: string, target: string, answer: Answered) => string | undefined

interface Place {
  readonly template: string
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

/** Templates of a path that have fewer names come first, as they do in the router. */
const placesOf = ({ paths }: OpenApi): Place[] =>
  Object.entries(paths)
    .map(([template, operations]) => ({
      template,
      pattern: new RegExp(
        `^${template.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replaceAll(/\{\w+\}/g, '[^/]+')}$`,
      ),
      methods: Object.keys(operations),
    }))
    .toSorted((one, other) => one.template.split('{').length - other.template.split('{').length)

const holding = (document: OpenApi): ProblemOf => {
  const { problemAt } = documented(document)
  const places = placesOf(document)
  return (method, target, answer) => {
    const [path = ''] = target.split('?')
    const wanted = method.toLowerCase()
    const place = places.find(({ pattern, methods }) => methods.includes(wanted) && pattern.test(path))
    return place && problemAt(place.template, wanted, answer)
  }
}

/** Names of files hold slashes, escaped or not: where a path leads is the router's to say. */
const holdingSandbox = (document: OpenApi): ProblemOf => {
  const { problemOf } = documented(document)
  const routes = Object.values(sandboxRoutes).flatMap(family => Object.values(family))
  const run = () => undefined
  const router = matcher(
    routes.map(route => ({ route, run })),
    'whole',
  )
  return (method, target, answer) => {
    const [path = ''] = target.split('?')
    const found = router.match(method, path, decodePath(path))
    return found && problemOf(found.bound.route, answer)
  }
}

/** The documents that were met, compiled once: tests start many servers of one build. */
const met = new Map<string, ProblemOf>()

const heldBy = async (
  make: (document: OpenApi) => ProblemOf,
  url: string,
  init: RequestInit = {},
): Promise<ProblemOf> => {
  const answer = await fetch(url, init)
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`)
  const { servers: _, ...document } = (await answer.json()) as OpenApi
  const key = JSON.stringify(document)
  const known = met.get(key) ?? make(document as OpenApi)
  met.set(key, known)
  return known
}

/** Of the management API at `url`. */
export const held = (url: string): Promise<ProblemOf> => heldBy(holding, `${url}/v0/openapi.json`)

/** Of the API of the sandbox at `url`; targets begin after it. */
export const heldSandbox = (url: string, headers: Readonly<Record<string, string>>): Promise<ProblemOf> =>
  heldBy(holdingSandbox, `${url.replace(/\/$/, '')}/swagger/openapi.json`, { headers })

/** Of the API that sandboxes of this build have: none of them is asked for its document, so none is woken or kept awake by it. */
export const heldDaemon = (): ProblemOf => {
  const routes = Object.values(sandboxRoutes).flatMap(family => Object.values(family))
  const deps = { config: { platformEnv: '', names: wireNames([]) }, hostConfiguration: { identity: () => ({}) } }
  const [, file] = swaggerRoutes(deps as unknown as Parameters<typeof swaggerRoutes>[0], () => routes)
  const input = { params: { file: 'openapi.json' }, query: {}, body: undefined }
  if (!file) throw new Error('daemons serve no document')
  const { body } = file.run(input, {} as never) as Reply
  return holdingSandbox(JSON.parse(String(body)) as OpenApi)
}
