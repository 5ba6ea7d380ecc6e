/**
 * What a body says that has no effect: members that no schema knows, and those that are known and not enforced here. It is accepted,
 * because clients of other versions send more, and named in a header, because a misspelt member is otherwise never found.
 */
import type { Route } from '../../../shared/route.ts'
import { toJsonSchema, withoutEffect } from '../../../shared/schema.ts'

type Json = Readonly<Record<string, unknown>>

export interface Warning {
  /** Of what: a member of a body, or a name. */
  readonly path: string
  readonly says: string
}

/** Warnings of one body, and bytes of the header. */
const bounds = { warnings: 20, path: 120, bytes: 2_048 } as const

/** What clients of the contract send with every body, whatever the kind. */
const runtimeMembers = ['type', 'skipBuild', 'dockerConfig', 'generation', 'maxConcurrentTasks']
const alwaysSent: ReadonlySet<string> = new Set([
  'apiVersion',
  'kind',
  'snapshotEnabled',
  'spec.snapshotEnabled',
  ...runtimeMembers.map(name => `spec.runtime.${name}`),
])

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A choice between several schemas is all of them. */
const choices = (schema: Json): readonly Json[] => {
  const options = (schema['anyOf'] ?? schema['oneOf']) as readonly Json[] | undefined
  if (!options) return [schema]
  const mark = schema[withoutEffect] ? { [withoutEffect]: true } : {}
  return options.flatMap(option => choices({ ...option, ...mark }))
}

/** Lists and maps also come as text holding JSON. */
const unwrapped = (value: unknown, schemas: readonly Json[]): unknown => {
  if (typeof value !== 'string' || !schemas.some(({ type }) => type === 'object' || type === 'array')) return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    // Text as it is.
    return value
  }
}

const isSaid = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)

/** What the schemas of a place say: of what is taken there, and of what is answered. */
interface Known {
  readonly taken: readonly Json[]
  readonly answered: readonly Json[]
}

const named = (schemas: readonly Json[], name: string): readonly Json[] =>
  schemas.flatMap(({ properties }) =>
    isObject(properties) && Object.hasOwn(properties, name) ? choices(properties[name] as Json) : [],
  )

/** Members that are taken whatever they are called; an answer may have more than its shape says, but does not know it. */
const others = (schemas: readonly Json[]): readonly Json[] =>
  schemas.flatMap(({ type, properties, additionalProperties }) => {
    if (type !== undefined && type !== 'object') return []
    if (isObject(additionalProperties)) return choices(additionalProperties)
    return properties === undefined || additionalProperties === true ? [{}] : []
  })

const memberOf = ({ taken, answered }: Known, name: string): Known => {
  const said = { taken: named(taken, name), answered: named(answered, name) }
  return said.taken.length + said.answered.length > 0 ? said : { taken: others(taken), answered: [] }
}

const itemOf = (schemas: readonly Json[]): readonly Json[] =>
  schemas.flatMap(({ items }) => (isObject(items) ? choices(items) : []))

/** A shape that says nothing of members: anything may be there. */
const isOpen = (schemas: readonly Json[]): boolean =>
  schemas.some(schema => !(schema['properties'] ?? schema['additionalProperties'] ?? schema['type']))

interface Found {
  readonly found: Warning[]
  /** Found, and not kept. */
  more: number
}

interface Walk extends Found {
  /** Paths that have no effect on this host, whatever the schemas say. */
  readonly idle: ReadonlySet<string>
}

const note = (into: Found, path: string, says: string): void => {
  if (into.found.length < bounds.warnings) into.found.push({ path, says })
  else into.more++
}

const look = (walk: Walk, given: unknown, known: Known, path: string): void => {
  const { taken, answered } = known
  const isIdle = walk.idle.has(path) || (taken.length > 0 && taken.every(schema => schema[withoutEffect]))
  if (isIdle && isSaid(given)) return note(walk, path, 'has no effect')
  const value = unwrapped(given, taken)
  if (Array.isArray(value)) {
    const inside = { taken: itemOf(taken), answered: itemOf(answered) }
    // A list of anything may hold lists without end.
    if (inside.taken.length === 0) return
    for (const [at, item] of value.entries()) look(walk, item, inside, `${path}.${at}`)
    return
  }
  if (!isObject(value) || taken.length === 0 || isOpen(taken)) return
  for (const [name, member] of Object.entries(value)) {
    const inside = path ? `${path}.${name}` : name
    const said = memberOf(known, name)
    if (said.taken.length + said.answered.length > 0) look(walk, member, said, inside)
    else if (!alwaysSent.has(inside)) note(walk, inside, 'is not known')
  }
}

const labelsOf = (body: unknown): readonly string[] => {
  const metadata = isObject(body) ? body['metadata'] : undefined
  const labels = isObject(metadata) ? metadata['labels'] : undefined
  return isObject(labels) ? Object.keys(labels) : []
}

/** In double quotes and ASCII, so that no name that somebody sends is more than text in a header. */
const quoted = ({ path, says }: Warning): string => {
  const short = path.length > bounds.path ? `${path.slice(0, bounds.path)}…` : path
  return JSON.stringify(`${short} ${says}`).replace(
    /[^\x20-\x7e]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const written = ({ found, more }: Found): string | undefined => {
  const parts: string[] = []
  let left = bounds.bytes
  for (const one of found.map(quoted)) {
    left -= one.length + 2
    if (left >= 0) parts.push(one)
  }
  const omitted = more + found.length - parts.length
  return parts.length + omitted === 0
    ? undefined
    : [...parts, ...(omitted > 0 ? [`"and ${omitted} more"`] : [])].join(', ')
}

/** As the value of a header, undefined when there is none. */
export const warningText = (warnings: readonly Warning[]): string | undefined => {
  const said: Found = { found: [], more: 0 }
  for (const { path, says } of warnings) note(said, path, says)
  return written(said)
}

/**
 * Tells of a body what of it has no effect, as the value of a header: JSON texts with commas between them; undefined when nothing is. What
 * an answer of the same route has is not told of: clients send back what they have read. `isOwnLabel` is true of labels that a platform
 * gives a meaning to, and this one does not; `idle` are paths of members that other hosts heed.
 */
export const warningsOf = (
  isOwnLabel: (label: string) => boolean,
  idle: ReadonlySet<string> = new Set(),
): ((route: Route, body: unknown) => string | undefined) => {
  const schemas = new WeakMap<Route, Known>()
  const knownTo = (route: Route): Known => {
    const known = schemas.get(route)
    if (known) return known
    const made = { taken: choices(toJsonSchema(route.body)), answered: choices(toJsonSchema(route.returns, 'output')) }
    schemas.set(route, made)
    return made
  }
  return (route, body) => {
    const walk: Walk = { idle, found: [], more: 0 }
    look(walk, body, knownTo(route), '')
    for (const label of labelsOf(body).filter(isOwnLabel)) note(walk, `metadata.labels.${label}`, 'has no effect')
    return written(walk)
  }
}
