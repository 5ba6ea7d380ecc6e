/** OpenAPI 3.1 of declared routes. Nothing is written by hand: a route that exists is in the document. */
import { errors } from '../errors.ts'
import type { Route } from '../route.ts'
import { toJsonSchema } from '../schema.ts'

export interface ApiInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
  /** Base addresses, e.g. `https://host/base`. */
  readonly servers?: readonly string[]
  /** The credential is a bearer token for every route that is not `open`. */
  readonly bearer?: boolean
  /** Shape of an error body; `{ error: string }` when absent. */
  readonly errorSchema?: Record<string, unknown>
}

type Json = Record<string, unknown>

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description?: string
  readonly schema: Json
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { required: boolean; content: Record<string, { schema: Json }> }
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: Json }>; links?: Json }>
  readonly security?: readonly Record<string, never[]>[]
}

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: Json
  readonly servers: readonly { url: string }[]
  readonly tags: readonly { name: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { schemas: Record<string, Json>; securitySchemes?: Record<string, Json> }
  readonly security?: readonly Record<string, never[]>[]
}

/** `/a/:b/*rest` → `/a/{b}/{rest}`. */
export const templateOf = (path: string): string => path.replace(/[:*](\w+)/g, '{$1}')

const variablesOf = (path: string): string[] => [...path.matchAll(/[:*](\w+)/g)].map(match => match[1] as string)

const fieldsOf = (schema: Json): { properties: Record<string, Json>; required: ReadonlySet<string> } => ({
  properties: (schema['properties'] ?? {}) as Record<string, Json>,
  required: new Set((schema['required'] ?? []) as string[]),
})

const parametersOf = (route: Route): Parameter[] => {
  const params = fieldsOf(toJsonSchema(route.params))
  const query = fieldsOf(toJsonSchema(route.query))
  return [
    ...variablesOf(route.path).map(name => ({
      name,
      in: 'path' as const,
      required: true,
      schema: params.properties[name] ?? { type: 'string' },
    })),
    ...Object.entries(query.properties).map(([name, schema]) => ({
      name,
      in: 'query' as const,
      required: query.required.has(name),
      schema,
    })),
  ]
}

const acceptsNothing = (schema: Json): boolean =>
  ((schema['anyOf'] ?? []) as Json[]).some(option => option['type'] === 'null')

/** False for a schema that allows anything. */
const says = (schema: Json): boolean => Object.keys(schema).length > 0

const binary = { type: 'string', format: 'binary' }

const formOf = (fields: readonly string[]): Json => ({
  type: 'object',
  properties: { file: binary, ...Object.fromEntries(fields.map(name => [name, { type: 'string' }])) },
  required: ['file'],
})

const bodyOf = (route: Route): Operation['requestBody'] => {
  if (route.accepts === 'none') return undefined
  const schema = toJsonSchema(route.body)
  if (route.accepts === 'stream')
    return {
      required: route.form !== undefined,
      content: {
        ...(says(schema) ? { 'application/json': { schema } } : {}),
        ...(route.form ? { 'multipart/form-data': { schema: formOf(route.form) } } : {}),
        ...(says(schema) || !route.form ? { 'application/octet-stream': { schema: binary } } : {}),
      },
    }
  return { required: !acceptsNothing(schema), content: { 'application/json': { schema } } }
}

const errorRef = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }

/** Errors of every route that takes JSON. */
const bodyErrors = ['invalid_body', 'payload_too_large'] as const

const linksOf = ({ leadsTo }: Route): { links?: Json } => {
  const links = Object.entries(leadsTo).map(([operationId, given]) => {
    const parameters = Object.entries(given).map(([name, field]) => [name, `$response.body#/${field}`])
    return [operationId, { operationId, parameters: Object.fromEntries(parameters) }]
  })
  return links.length > 0 ? { links: Object.fromEntries(links) } : {}
}

const responsesOf = (route: Route): Operation['responses'] => {
  const responses: Operation['responses'] = {}
  if (route.upgrade) responses['101'] = { description: 'The connection becomes a WebSocket' }
  const content: Record<string, { schema: Json }> = {}
  const returns = toJsonSchema(route.returns, 'output')
  if (!route.upgrade && (says(returns) || route.produces.length === 0))
    content['application/json'] = { schema: returns }
  for (const type of route.produces) content[type] = { schema: { type: 'string' } }
  if (Object.keys(content).length > 0) responses['200'] = { description: 'Success', content, ...linksOf(route) }
  for (const [status, description] of Object.entries(route.statuses)) responses[status] = { description }
  const statuses = new Map<number, string[]>()
  const ofBody = route.accepts === 'json' ? bodyErrors : []
  const ofUpgrade = route.upgrade ? (['upgrade_required'] as const) : []
  for (const code of new Set([...ofBody, ...ofUpgrade, ...route.errors, 'internal'] as const)) {
    const { status } = errors[code]
    statuses.set(status, [...(statuses.get(status) ?? []), code])
  }
  for (const [status, codes] of [...statuses].toSorted(([a], [b]) => a - b))
    responses[String(status)] = { description: codes.join(', '), content: errorRef }
  return responses
}

const operationOf = (route: Route, info: ApiInfo): Operation => {
  const requestBody = bodyOf(route)
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [route.family],
    parameters: parametersOf(route),
    ...(requestBody ? { requestBody } : {}),
    responses: responsesOf(route),
    ...(info.bearer && route.open ? { security: [] } : {}),
    ...route.document,
  }
}

/** The document of `routes`, in the given order, without HEAD probes. */
export const openApi = (routes: readonly Route[], info: ApiInfo): OpenApi => {
  const shown = routes.filter(route => route.method !== 'HEAD')
  const paths: OpenApi['paths'] = {}
  for (const route of shown) {
    const path = (paths[templateOf(route.path)] ??= {})
    path[route.method.toLowerCase()] = operationOf(route, info)
  }
  const error = info.errorSchema ?? {
    type: 'object',
    properties: { error: { type: 'string' } },
    required: ['error'],
  }
  const { title, version, description } = info
  return {
    openapi: '3.1.0',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    servers: (info.servers ?? ['/']).map(url => ({ url })),
    tags: [...new Set(shown.map(route => route.family))].map(name => ({ name })),
    paths,
    components: {
      schemas: { Error: error },
      ...(info.bearer ? { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } } : {}),
    },
    ...(info.bearer ? { security: [{ bearer: [] }] } : {}),
  }
}
