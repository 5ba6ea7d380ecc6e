/** JSON Schemas of tools' arguments and results in the words that every client and model understands. */
import { isObject } from './rpc.ts'

type Json = Record<string, unknown>

/** What says nothing to a model: names of components, examples of the documentation, lengths that nothing reaches. */
const noise: ReadonlySet<string> = new Set(['title', 'examples', 'maxLength', 'minLength', 'maxItems'])

const isNull = (schema: unknown): boolean => isObject(schema) && schema['type'] === 'null'

/** An argument may be null where it may be left out, which is easier said by leaving it out. */
const withoutNull = (schema: Json): Json => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return schema
  const options = anyOf.filter(option => !isNull(option)) as Json[]
  const values = Array.isArray(rest['enum']) ? { enum: rest['enum'].filter(value => value !== null) } : {}
  return options.length === 1 ? { ...options[0], ...rest, ...values } : { ...rest, anyOf: options }
}

/**
 * Turns a list of types into `anyOf`: some clients pass tools on to models whose schema dialect allows one type only.
 */
export const plainSchema = (schema: unknown, io: 'input' | 'output'): unknown => {
  if (Array.isArray(schema)) return schema.map(one => plainSchema(one, io))
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).filter(([key]) => !noise.has(key))
  const { type, ...rest } = Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'properties' ? members(value, io) : plainSchema(value, io)]),
  )
  if (type === undefined) return rest
  return Array.isArray(type) ? { anyOf: type.map(one => ({ type: one })), ...rest } : { type, ...rest }
}

/** Members may be called like what is noise elsewhere. */
const members = (properties: unknown, io: 'input' | 'output'): Json =>
  Object.fromEntries(
    Object.entries(properties as Json).map(([name, schema]) => {
      const typed = plainSchema(schema, io) as Json
      return [name, io === 'input' ? withoutNull(typed) : typed]
    }),
  )
