/** The operations of the management API as tools: what a model is told of each, computed from its declaration. */
import { told, type Texts } from '../../../shared/http/texts.ts'
import { plainSchema } from '../../../shared/mcp/plain-schema.ts'
import { isObject } from '../../../shared/mcp/rpc.ts'
import type { Route } from '../../../shared/route.ts'
import { toJsonSchema, type Shape } from '../../../shared/schema.ts'

type Json = Record<string, unknown>

/** An operation under the name that clients give models: many allow letters, digits, `_` and `-` only. */
export interface OperationTool {
  readonly name: string
  readonly route: Route
}

const says = (shape: Shape): boolean => Object.keys(toJsonSchema(shape, 'output')).length > 0

/** A tool takes JSON and answers it; what is open to everybody is for pages and probes. */
const isTool = ({ open, upgrade, accepts, produces, returns, extra }: Route): boolean =>
  !open &&
  !upgrade &&
  extra['protocol'] === undefined &&
  (accepts === 'json' || accepts === 'none') &&
  !produces.includes('text/plain') &&
  (produces.length === 0 || says(returns))

export const toolsOf = (routes: readonly Route[]): OperationTool[] =>
  routes.filter(isTool).map(route => ({ name: route.id.replaceAll('.', '_'), route }))

export const pathNames = ({ path }: Route): string[] =>
  [...path.matchAll(/[:*](\w+)/g)].map(match => match[1] as string)

const computed = (schema: Json, parent: string, texts: Texts): Json =>
  plainSchema(told(schema, parent, { texts, io: 'input' }), 'input') as Json

const membersOf = (schema: Json): Json => (isObject(schema['properties']) ? { ...schema['properties'] } : {})

/** A number or a flag is text in an address, and itself in JSON. */
const asked = (schema: unknown): unknown => {
  if (!isObject(schema) || !Array.isArray(schema['type'])) return schema
  const { type, pattern: _, ...rest } = schema
  const [one] = (type as string[]).filter(name => name !== 'string')
  return one ? { ...rest, type: one } : schema
}

const acceptsNothing = (schema: Json): boolean =>
  Array.isArray(schema['anyOf']) && schema['anyOf'].some(one => isObject(one) && one['type'] === 'null')

/** Names of the arguments that are sent in the query. */
export const queryNames = ({ query }: Route): string[] => Object.keys(membersOf(toJsonSchema(query)))

/** `body` is the body of the request; what is in its path and query is an argument of the same name. */
const inputSchemaOf = (route: Route, texts: Texts): Json => {
  const query = toJsonSchema(route.query)
  const members = Object.entries(membersOf(query)).map(([name, one]) => [name, asked(one)])
  const properties = membersOf(computed({ properties: Object.fromEntries(members) }, 'parameter', texts))
  const declared = membersOf(computed(toJsonSchema(route.params), 'parameter', texts))
  for (const name of pathNames(route)) properties[name] = declared[name] ?? { type: 'string' }
  const required = [...pathNames(route), ...((query['required'] ?? []) as string[])]
  if (route.accepts === 'json') {
    const body = computed(toJsonSchema(route.body), route.family, texts)
    properties['body'] = body
    if (!acceptsNothing(body)) required.push('body')
  }
  return { type: 'object', properties, required, additionalProperties: false }
}

/** The tool as `tools/list` shows it. */
export const describeOperation = ({ name, route }: OperationTool, texts: Texts): object => ({
  name,
  description: `${route.summary} (${route.method} ${route.path})`,
  annotations: {
    readOnlyHint: route.method === 'GET',
    destructiveHint: route.method === 'DELETE',
    idempotentHint: ['GET', 'PUT', 'DELETE'].includes(route.method),
  },
  inputSchema: inputSchemaOf(route, texts),
})
