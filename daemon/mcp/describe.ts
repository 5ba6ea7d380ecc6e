/** Tools as `tools/list` shows them. */
import { toJsonSchema } from '../../shared/schema.ts'
import { isObject } from './rpc.ts'
import type { Tool } from './tool.ts'

/**
 * Turns a list of types into `anyOf`: some clients pass tools on to models whose schema dialect allows one type only.
 */
const oneType = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(oneType)
  if (!isObject(schema)) return schema
  const { type, ...rest } = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, oneType(value)]))
  if (type === undefined) return rest
  return Array.isArray(type) ? { anyOf: type.map(one => ({ type: one })), ...rest } : { type, ...rest }
}

const schemaOf = (shape: Tool['input'], io: 'input' | 'output', about: Readonly<Record<string, string>> = {}) => {
  const { properties, ...schema } = oneType(toJsonSchema(shape, io)) as { properties: Record<string, object> }
  const told = Object.entries(properties).map(([name, property]) => {
    const description = about[name]
    return [name, description === undefined ? property : { ...property, description }] as const
  })
  return { ...schema, type: 'object' as const, properties: Object.fromEntries(told) }
}

export const describeTool = ({ name, description, about, readOnly, input, output }: Tool) => ({
  name,
  description,
  ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
  inputSchema: schemaOf(input, 'input', about),
  outputSchema: schemaOf(output, 'output'),
})
