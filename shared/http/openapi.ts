/** OpenAPI 3.1 of declared routes. Nothing is written by hand: a route that exists is in the document. */
import { bodyErrors } from './input.ts'
import { errors, type ErrorCode } from '../errors.ts'
import type { Route } from '../route.ts'
import { toJsonSchema } from '../schema.ts'
import { components, pascal } from './components.ts'
import { told, toldParameter, type Texts } from './texts.ts'

export interface ApiInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
  /** Base addresses, e.g. `https://host/base`. */
  readonly servers?: readonly string[]
  /** Headers that carry `Bearer <key>`, lower case. `optional`: also without. */
  readonly credential: { readonly headers: readonly string[]; readonly optional: boolean }
  /** Shape of an error body; `{ error: string }` when absent. */
  readonly errorSchema?: Json
  /** What members and parameters mean. */
  readonly texts: Texts
  /** What families are about. */
  readonly families: Readonly<Record<string, string>>
  /** Failures of every route. */
  readonly errors?: readonly ErrorCode[]
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
  readonly tags: readonly { name: string; description?: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { schemas: Record<string, Json>; securitySchemes: Record<string, Json> }
  readonly security: readonly Record<string, never[]>[]
}

/** What the operations of one document have in common. */
interface Document {
  readonly info: ApiInfo
  readonly named: ReturnType<typeof components>
}

/** `/a/:b/*rest` → `/a/{b}/{rest}`. */
export const templateOf = (path: string): string => path.replace(/[:*](\w+)/g, '{$1}')

const variablesOf = (path: string): string[] => [...path.matchAll(/[:*](\w+)/g)].map(match => match[1] as string)

const fieldsOf = (schema: Json): { properties: Record<string, Json>; required: ReadonlySet<string> } => ({
  properties: (schema['properties'] ?? {}) as Record<string, Json>,
  required: new Set((schema['required'] ?? []) as string[]),
})

const parameter = (given: Omit<Parameter, 'description'>, texts: Texts): Parameter => {
  const { description, ...schema } = toldParameter(given.schema, given.name, texts) as Json & { description?: string }
  return { ...given, ...(description === undefined ? {} : { description }), schema }
}

const parametersOf = (route: Route, { texts }: ApiInfo): Parameter[] => {
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
  ].map(one => parameter(one, texts))
}

const acceptsNothing = (schema: Json): boolean =>
  ((schema['anyOf'] ?? []) as Json[]).some(option => option['type'] === 'null')

/** A schema of a route's body or answer with texts, as a reference to a component. */
const placed = (schema: Json, { family, id }: Route, io: 'input' | 'output', { info, named }: Document): Json => {
  const [suffix, name] = io === 'input' ? ['Input', 'Request'] : ['Output', 'Response']
  return named.of(suffix).place(told(schema, family, { texts: info.texts, io }) as Json, `${pascal(id)}${name}`)
}

/** False for a schema that allows anything. */
const says = (schema: Json): boolean => Object.keys(schema).length > 0

const binary = { type: 'string', format: 'binary' }

const isText = (type: string): boolean => /^text\/|json/.test(type)

const formOf = (fields: readonly string[]): Json => ({
  type: 'object',
  properties: { file: binary, ...Object.fromEntries(fields.map(name => [name, { type: 'string' }])) },
  required: ['file'],
})

const bodyOf = (route: Route, document: Document): Operation['requestBody'] => {
  if (route.accepts === 'none' || 'requestBody' in route.document) return undefined
  const declared = toJsonSchema(route.body)
  const schema = says(declared) ? placed(declared, route, 'input', document) : declared
  const form = () => told(formOf(route.form ?? []), route.family, { texts: document.info.texts, io: 'input' }) as Json
  if (route.accepts === 'stream')
    return {
      required: route.form !== undefined,
      content: {
        ...(says(schema) ? { 'application/json': { schema } } : {}),
        ...(route.form ? { 'multipart/form-data': { schema: form() } } : {}),
        ...(says(schema) || !route.form ? { 'application/octet-stream': { schema: binary } } : {}),
      },
    }
  return { required: !acceptsNothing(declared), content: { 'application/json': { schema } } }
}

const errorRef = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }

const linksOf = ({ leadsTo }: Route): { links?: Json } => {
  const links = Object.entries(leadsTo).map(([operationId, given]) => {
    const parameters = Object.entries(given).map(([name, field]) => [name, `$response.body#/${field}`])
    return [operationId, { operationId, parameters: Object.fromEntries(parameters) }]
  })
  return links.length > 0 ? { links: Object.fromEntries(links) } : {}
}

type Content = Record<string, { schema: Json }>
/** What comes with a status that a route declares by itself. */
const contentOf = (status: number, content: Content, bytes: Content): { content?: Content } => {
  if (status === 206) return { content: bytes }
  if (status >= 400 && status < 500) return { content: errorRef }
  return [201, 202].includes(status) || status >= 500 ? { content } : {}
}

const responsesOf = (route: Route, document: Document): Operation['responses'] => {
  const responses: Operation['responses'] = {}
  if (route.upgrade) responses['101'] = { description: 'The connection becomes a WebSocket' }
  const content: Content = {}
  const returns = toJsonSchema(route.returns, 'output')
  // What succeeds without a body says so by its status.
  const isEmpty = !says(returns) && Object.keys(route.statuses).some(status => ['200', '204'].includes(status))
  if (!route.upgrade && !isEmpty && (says(returns) || route.produces.length === 0))
    content['application/json'] = { schema: says(returns) ? placed(returns, route, 'output', document) : returns }
  const bytes: Content = {}
  for (const type of route.produces) bytes[type] = { schema: isText(type) ? { type: 'string' } : binary }
  Object.assign(content, bytes)
  if (Object.keys(content).length > 0) responses['200'] = { description: 'Success', content, ...linksOf(route) }
  for (const [status, description] of Object.entries(route.statuses))
    responses[status] = { description, ...contentOf(Number(status), content, bytes) }
  const statuses = new Map<number, string[]>()
  const ofUpgrade = route.upgrade ? (['upgrade_required'] as const) : []
  for (const code of new Set([
    ...bodyErrors[route.accepts],
    ...ofUpgrade,
    ...(document.info.errors ?? []),
    ...route.errors,
    'internal',
  ] as const)) {
    const { status } = errors[code]
    statuses.set(status, [...(statuses.get(status) ?? []), code])
  }
  for (const [status, codes] of [...statuses].toSorted(([a], [b]) => a - b))
    responses[String(status)] = { description: codes.join(', '), content: errorRef }
  // Documents are expected to say how a call succeeds, and have no word for a connection that is taken over.
  if (route.upgrade) responses['default'] = { description: 'Any other failure', content: errorRef }
  return responses
}

/** Members that the route states itself, with texts. */
const statedBy = (route: Route, { texts }: ApiInfo): Json =>
  told(route.document as Json, route.family, { texts, io: 'output' }) as Json

const operationOf = (route: Route, document: Document): Operation => {
  const requestBody = bodyOf(route, document)
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [route.family],
    parameters: parametersOf(route, document.info),
    ...(requestBody ? { requestBody } : {}),
    responses: responsesOf(route, document),
    ...(route.open ? { security: [] } : {}),
    ...statedBy(route, document.info),
  }
}

/** The first header as a scheme of HTTP, the others as keys in a header. */
const securityOf = ({ credential: { headers, optional } }: ApiInfo): Pick<OpenApi, 'security'> & { schemes: Json } => {
  const schemes = Object.fromEntries(
    headers.map(header =>
      header === 'authorization'
        ? ['bearer', { type: 'http', scheme: 'bearer', description: 'An API key' }]
        : [header, { type: 'apiKey', in: 'header', name: header, description: '`Bearer `, and an API key' }],
    ),
  )
  return { schemes, security: [...Object.keys(schemes).map(name => ({ [name]: [] })), ...(optional ? [{}] : [])] }
}

/** The document of `routes`, in the given order, without HEAD probes. */
export const openApi = (routes: readonly Route[], info: ApiInfo): OpenApi => {
  const shown = routes.filter(route => route.method !== 'HEAD')
  const named = components()
  const document: Document = { info, named }
  const error = info.errorSchema ?? { type: 'object', properties: { error: { type: 'string' } }, required: ['error'] }
  named.schemas['Error'] = told(error, 'failure', { texts: info.texts, io: 'output' }) as Json
  const paths: OpenApi['paths'] = {}
  for (const route of shown) {
    const path = (paths[templateOf(route.path)] ??= {})
    path[route.method.toLowerCase()] = operationOf(route, document)
  }
  const { title, version, description } = info
  const { schemes, security } = securityOf(info)
  const families = [...new Set(shown.map(route => route.family))]
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      ...(description === undefined ? {} : { description }),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: (info.servers ?? ['/']).map(url => ({ url })),
    tags: families.map(name => ({ name, ...(info.families[name] ? { description: info.families[name] } : {}) })),
    paths,
    components: { schemas: named.schemas, securitySchemes: schemes as Record<string, Json> },
    security,
  }
}
