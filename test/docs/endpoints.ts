/** The endpoint tables of the pages, from the declarations of the routes. */
import { globSync } from 'node:fs'
import { errors, type ErrorCode } from '../../shared/errors.ts'
import { templateOf } from '../../shared/http/openapi.ts'
import type { Route } from '../../shared/route.ts'
import { toJsonSchema } from '../../shared/schema.ts'

const root = new URL('../..', import.meta.url)

/** Which page has which families; billing belongs to the management API, which has its own document. */
export const familiesOf: Readonly<Record<string, readonly string[]>> = {
  'filesystem.md': ['filesystem'],
  'multipart.md': ['multipart'],
  'processes.md': ['process'],
  'terminal.md': ['terminal'],
  'network.md': ['network', 'tunnel'],
  'codegen.md': ['codegen'],
  'drives.md': ['drives'],
  'mcp.md': ['mcp'],
  'system.md': ['system', 'swagger'],
}

const isRoute = (value: unknown): value is Route =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'accepts' in value

const routesIn = (value: unknown): Route[] =>
  isRoute(value) ? [value] : Array.isArray(value) ? value.flatMap(routesIn) : []

/** Every declared route, once. */
export const declaredRoutes = async (): Promise<Route[]> => {
  const found = new Set<Route>()
  for (const file of globSync('shared/wire/*.ts', { cwd: root }).toSorted())
    for (const value of Object.values((await import(new URL(file, root).href)) as object))
      for (const route of routesIn(value)) found.add(route)
  return [...found]
}

type Json = Record<string, unknown>

/** The kinds a value may have, `null` last. */
const kindsOf = (schema: Json): string[] => {
  const options = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined
  const kinds = options
    ? options.flatMap(kindsOf)
    : Array.isArray(schema['type'])
      ? (schema['type'] as string[])
      : [short(schema)]
  return [...new Set(kinds)].toSorted((a, b) => Number(a === 'null') - Number(b === 'null'))
}

const field = (name: string, schema: Json, required: boolean): string => {
  const kinds = kindsOf(schema)
  // What may be absent may be null as well; that goes without saying.
  return required ? `${name}: ${kinds.join('|')}` : `${name}?: ${kinds.filter(kind => kind !== 'null').join('|')}`
}

/** A shape in a few words: `{name: string, ports?: [integer]}`. */
const short = (schema: Json): string => {
  if ('anyOf' in schema || 'oneOf' in schema || Array.isArray(schema['type'])) return kindsOf(schema).join('|')
  if (Array.isArray(schema['enum'])) return (schema['enum'] as unknown[]).map(value => JSON.stringify(value)).join('|')
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (schema['type'] === 'array') return `[${short((schema['items'] ?? {}) as Json)}]`
  if (schema['type'] !== 'object' && !('properties' in schema)) return String(schema['type'] ?? 'anything')
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>)
  if (properties.length === 0) return `{…: ${short((schema['additionalProperties'] ?? {}) as Json)}}`
  const required = new Set((schema['required'] ?? []) as string[])
  return `{${properties.map(([name, one]) => field(name, one, required.has(name))).join(', ')}}`
}

const queryOf = (route: Route): string => {
  const names = Object.keys((toJsonSchema(route.query)['properties'] ?? {}) as object)
  return names.length === 0 ? '' : `?${names.join('&')}`
}

interface Documented {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Json }>> }
  readonly responses?: Readonly<Record<string, { readonly description: string; readonly content?: object }>>
}

/** Content types, where a route says itself what no shape can say. */
const typesOf = (content: object = {}): string =>
  Object.keys(content)
    .map(type => `\`${type}\``)
    .join(', or ')

const takes = (route: Route): string | undefined => {
  const { requestBody } = route.document as Documented
  if (requestBody)
    return Object.entries(requestBody.content)
      .map(([type, { schema = {} }]) => `\`${type}\`${'properties' in schema ? ` \`${short(schema)}\`` : ''}`)
      .join(', or ')
  if (route.accepts === 'none') return undefined
  const declared = toJsonSchema(route.body)
  const shape = Object.keys(declared).length > 0 ? `\`${short(declared)}\`` : ''
  if (route.accepts === 'json') return shape || 'JSON'
  const form = route.form ? `a form with ${['file', ...route.form].map(name => `\`${name}\``).join(', ')}` : ''
  return [shape, form, shape || !form ? 'bytes' : ''].filter(Boolean).join(', or ')
}

const answers = (route: Route): string => {
  if (route.upgrade) return 'a WebSocket'
  const { responses } = route.document as Documented
  if (responses) return typesOf(responses['200']?.content)
  const declared = toJsonSchema(route.returns, 'output')
  const shapes = Object.keys(declared).length === 0 ? [] : ((declared['anyOf'] ?? [declared]) as Json[])
  return [...shapes.map(one => `\`${short(one)}\``), ...route.produces.map(type => `\`${type}\``)].join(', or ')
}

const errorsOf = (route: Route): string => {
  const { responses } = route.document as Documented
  if (responses)
    return Object.keys(responses)
      .filter(status => Number(status) >= 400)
      .join(', ')
  const codes: ErrorCode[] = [...route.errors]
  if (route.accepts === 'json') codes.push('invalid_body', 'payload_too_large')
  if (route.upgrade) codes.push('upgrade_required')
  const byStatus = new Map<number, string[]>()
  for (const code of new Set(codes)) {
    const { status } = errors[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  for (const [status, when] of Object.entries(route.statuses)) byStatus.set(Number(status), [when.toLowerCase()])
  const sorted = [...byStatus].toSorted(([a], [b]) => a - b)
  return sorted.map(([status, names]) => `${status} (${names.join(', ')})`).join(', ')
}

const begin = '<!-- endpoints: written by `node test/docs/write.ts` -->'
const end = '<!-- /endpoints -->'

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']
const order = (a: Route, b: Route): number =>
  a.path.localeCompare(b.path, 'en') || methods.indexOf(a.method) - methods.indexOf(b.method)

/** The list of a page's families; what several endpoints answer is spelt out at the first of them. */
export const tableOf = (routes: readonly Route[], families: readonly string[]): string => {
  const told = new Map<string, string>()
  const once = (text: string, name: string): string => {
    const first = told.get(text)
    if (first && text.length > 100) return `as ${first}`
    told.set(text, name)
    return text
  }
  const entries = routes
    .filter(({ family, method }) => families.includes(family) && method !== 'HEAD')
    .toSorted(order)
    .flatMap(route => {
      const name = `\`${route.method} ${templateOf(route.path)}\``
      const asked = takes(route)
      const told = answers(route)
      const refused = errorsOf(route)
      return [
        `- \`${route.method} ${templateOf(route.path)}${queryOf(route)}\`: ${route.summary}`,
        ...(asked ? [`  - takes ${asked}`] : []),
        ...(told ? [`  - answers ${once(told, name)}`] : []),
        ...(refused ? [`  - otherwise ${refused}`] : []),
      ]
    })
  return [begin, '', ...entries, '', end].join('\n')
}

/** The page with its table as declared; a page that has none yet gets it at its end. */
export const withTable = (page: string, table: string): string => {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < 0) return `${page.trimEnd()}\n\n## Endpoints\n\n${table}\n`
  return `${page.slice(0, from)}${table}${page.slice(to + end.length)}`
}
