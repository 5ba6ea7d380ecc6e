/** What a handler is given, parsed from the request in the shapes that its route declares. */
import { anything, type Request, type Route } from '../route.ts'
import { parse, type Shape } from '../schema.ts'
import { parseJson, readBody } from './body.ts'

const queryOf = (search: URLSearchParams): Record<string, string> => {
  const query: Record<string, string> = {}
  // The first value wins, as clients expect from the servers they come from.
  for (const [key, value] of search) query[key] ??= value
  return query
}

/** Parameters or query in their declared shape; passed on as they are where nothing is declared. */
const textOf = (shape: Shape, values: Record<string, string>, origin: 'params' | 'query'): unknown =>
  shape === (anything as Shape) ? values : parse(shape, values, origin)

type Heard = (body: unknown) => void

const bodyOf = async (request: Request, route: Route, heard: Heard): Promise<unknown> => {
  if (route.accepts !== 'json') return undefined
  const value = parseJson(await readBody(request.body, route.bodyLimit))
  heard(value)
  return parse(route.body, value, 'body')
}

/** Parameters, query and body; `heard` is told the body as it was sent. Throws `invalid_argument`, `invalid_body` or `payload_too_large`. */
export const inputOf = async (
  request: Request,
  route: Route,
  params: Record<string, string>,
  heard: Heard,
): Promise<{ params: unknown; query: unknown; body: unknown }> => ({
  params: textOf(route.params, params, 'params'),
  query: textOf(route.query, queryOf(request.search), 'query'),
  body: await bodyOf(request, route, heard),
})
