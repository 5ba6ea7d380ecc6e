/** Tools as `tools/list` shows them. */
import { told } from '../../shared/http/texts.ts'
import { toJsonSchema } from '../../shared/schema.ts'
import { sandboxTexts } from '../../shared/wire/texts.ts'
import { isObject } from './rpc.ts'
import type { Tool } from './tool.ts'

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
const oneType = (schema: unknown, io: 'input' | 'output'): unknown => {
  if (Array.isArray(schema)) return schema.map(one => oneType(one, io))
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).filter(([key]) => !noise.has(key))
  const { type, ...rest } = Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'properties' ? members(value, io) : oneType(value, io)]),
  )
  if (type === undefined) return rest
  return Array.isArray(type) ? { anyOf: type.map(one => ({ type: one })), ...rest } : { type, ...rest }
}

/** Members may be called like what is noise elsewhere. */
const members = (properties: unknown, io: 'input' | 'output'): Json =>
  Object.fromEntries(
    Object.entries(properties as Json).map(([name, schema]) => {
      const typed = oneType(schema, io) as Json
      return [name, io === 'input' ? withoutNull(typed) : typed]
    }),
  )

const schemaOf = (tool: Tool, io: 'input' | 'output') => {
  const { about = {}, name: called } = tool
  const computed = told(toJsonSchema(tool[io], io), called, { texts: sandboxTexts, io })
  const { properties, ...schema } = oneType(computed, io) as { properties: Record<string, Json> }
  const shown = Object.entries(properties).map(([name, property]) => {
    if (io === 'output') return [name, property] as const
    const description = (about as Readonly<Record<string, string>>)[name]
    return [name, { ...property, ...(description === undefined ? {} : { description }) }] as const
  })
  return { ...schema, type: 'object' as const, properties: Object.fromEntries(shown) }
}

export const describeTool = (tool: Tool) => ({
  name: tool.name,
  description: tool.description,
  ...(tool.readOnly ? { annotations: { readOnlyHint: true } } : {}),
  inputSchema: schemaOf(tool, 'input'),
  outputSchema: schemaOf(tool, 'output'),
})
