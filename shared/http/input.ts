/** What a handler is given, parsed from the request in the shapes that its route declares. */
import { fail } from '../errors.ts'
import { anything, type Request, type Route } from '../route.ts'
import { parse, type Shape } from '../schema.ts'
import { bodyOf as bytesOf, parseJson } from './body.ts'

const queryOf = (search: URLSearchParams): Record<string, string> => {
  const query: Record<string, string> = {}
  // The first value wins, as clients expect from the servers they come from.
  for (const [key, value] of search) query[key] ??= value
  return query
}

/** Parameters or query in their declared shape; passed on as they are where nothing is declared. */
const textOf = (shape: Shape, values: Record<string, string>, origin: 'params' | 'query'): unknown =>
  shape === (anything as Shape) ? values : parse(shape, values, origin)

/** What is sent compressed would be taken for what it is not (RFC 9110, section 8.4): a file would be stored as it came. */
const needPlain = ({ headers }: Request): void => {
  const given = headers['content-encoding']
  if (given !== undefined && !/^(?:identity)?$/i.test(String(given)))
    throw fail('unsupported_encoding', { given: String(given).slice(0, 50) })
}

/** Errors of every route that takes such a body. */
export const bodyErrors = {
  json: ['invalid_body', 'payload_too_large', 'unsupported_encoding'],
  stream: ['unsupported_encoding'],
  none: [],
} as const

type Heard = (body: unknown) => void

const bodyOf = async (request: Request, route: Route, heard: Heard): Promise<unknown> => {
  if (route.accepts !== 'none') needPlain(request)
  if (route.accepts !== 'json') return undefined
  const value = parseJson(await bytesOf(request, route.bodyLimit))
  heard(value)
  return parse(route.body, value, 'body')
}

/** Parameters, query and body; `heard` is told the body as it was sent. Throws `invalid_argument`, `invalid_body`, `unsupported_encoding` or `payload_too_large`. */
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
