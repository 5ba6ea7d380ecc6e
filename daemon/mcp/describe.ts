/** Tools as `tools/list` shows them. */
import { plainSchema } from '../../shared/mcp/plain-schema.ts'
import { told } from '../../shared/http/texts.ts'
import { toJsonSchema } from '../../shared/schema.ts'
import { sandboxTexts } from '../../shared/wire/texts.ts'
import type { Tool } from './tool.ts'

type Json = Record<string, unknown>

const schemaOf = (tool: Tool, io: 'input' | 'output') => {
  const { about = {}, name: called } = tool
  const computed = told(toJsonSchema(tool[io], io), called, { texts: sandboxTexts, io })
  const { properties, ...schema } = plainSchema(computed, io) as { properties: Record<string, Json> }
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
