/** Texts of an API's document for the members of its bodies and its parameters, put into computed schemas. */
type Json = Readonly<Record<string, unknown>>

/** What a member means, with its unit; an example; and its value when it is left out, where that is a value. */
type Text = readonly [about: string, example: unknown, fallback?: unknown]

/**
 * By `{parent}.{name}`, else by name. The parent is the title of a schema, or the member that holds it: of a body the family of its route;
 * of parameters it is `parameter`.
 */
export type Texts = Readonly<Record<string, Text>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (texts: Texts, parents: readonly string[], name: string): Text | undefined =>
  parents.map(parent => texts[`${parent}.${name}`]).find(text => text !== undefined) ?? texts[name]

/** What the members of a schema are in: what it is called, and the member that holds it. */
const parentsOf = ({ title }: Json, holder: string): string[] =>
  typeof title === 'string' ? [`${title.charAt(0).toLowerCase()}${title.slice(1)}`, holder] : [holder]

const conversions: Readonly<Record<string, (value: unknown) => unknown>> = {
  string: value => (typeof value === 'string' ? value : String(value)),
  integer: value => (typeof value === 'string' ? Number.parseInt(value, 10) : value),
  object: value => (Array.isArray(value) ? {} : value),
}

/** A value that the schema has: one that only other uses of the name allow gives way to what this one allows. */
const fitting = (schema: Json, value: unknown): unknown => {
  const { type, enum: values, const: only } = schema
  const [option] = ((schema['anyOf'] ?? []) as readonly Json[]).filter(one => one['type'] !== 'null')
  if (option) return fitting(option, value)
  if (only !== undefined) return only
  // A number that may be left empty: another of the name is a text.
  if (Array.isArray(type) && type.includes('integer') && typeof value === 'string') return schema['minimum'] ?? 0
  if (Array.isArray(values)) return values.includes(value) ? value : values[0]
  return conversions[String(type)]?.(value) ?? value
}

/** Whether its value is an object, or a list of them: those show by their members what they look like. */
const isComposed = (schema: Json): boolean => {
  const { type, items, properties, $ref } = schema
  const options = (schema['anyOf'] ?? schema['oneOf'] ?? []) as readonly Json[]
  if (properties !== undefined || $ref !== undefined || options.some(isComposed)) return true
  return type === 'array' && isObject(items) && isComposed(items)
}

const withText = (schema: Json, text: Text | undefined, io: 'input' | 'output'): Json => {
  if (!text) return schema
  const [description, example, fallback] = text
  return {
    ...schema,
    description: schema['description'] ?? description,
    ...(isComposed(schema) ? {} : { examples: schema['examples'] ?? [fitting(schema, example)] }),
    ...(fallback === undefined || io === 'output' ? {} : { default: schema['default'] ?? fitting(schema, fallback) }),
  }
}

export interface Telling {
  readonly texts: Texts
  readonly io: 'input' | 'output'
}

/** The schema with a text for every member, at any depth. */
export const told = (schema: Json, parent: string, telling: Telling): Json =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, unknown] => {
      if (key === 'properties' && isObject(value))
        return [
          key,
          Object.fromEntries(
            Object.entries(value).map(([name, member]) => [
              name,
              withText(
                told(member as Json, name, telling),
                textOf(telling.texts, parentsOf(schema, parent), name),
                telling.io,
              ),
            ]),
          ),
        ]
      if (key === 'examples' || key === 'default' || key === 'enum') return [key, value]
      if (Array.isArray(value)) return [key, value.map(one => (isObject(one) ? told(one, parent, telling) : one))]
      return [key, isObject(value) ? told(value, parent, telling) : value]
    }),
  )

/** The schema of a parameter with its text. */
export const toldParameter = (schema: Json, name: string, texts: Texts): Json =>
  withText(schema, textOf(texts, ['parameter'], name), 'input')
