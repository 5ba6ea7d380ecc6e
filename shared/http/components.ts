/** Named components of an API's document: schemas with a title, and the bodies and answers of operations. */
type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** `sandboxes.apikeys.list` → `SandboxesApikeysList`. */
export const pascal = (id: string): string =>
  id.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export interface Components {
  /** A reference to the schema, which is kept under its title, or else under `name`; one that is a list or a choice keeps its form. */
  place(schema: Json, name: string): Json
  readonly schemas: Record<string, Json>
}

const isNamed = (schema: Json): boolean => 'properties' in schema && typeof schema['title'] === 'string'

/** Components that are asked for and answered in different forms are told apart by the suffix. */
export const components = (): { of(suffix: string): Components; readonly schemas: Record<string, Json> } => {
  const schemas: Record<string, Json> = {}

  const kept = (schema: Json, name: string, suffix: string): Json => {
    const text = JSON.stringify(schema)
    for (let count = 0; ; count++) {
      const called = count === 0 ? name : `${name}${suffix}${count > 1 ? count : ''}`
      const known = schemas[called]
      if (known && JSON.stringify(known) !== text) continue
      schemas[called] = schema
      return { $ref: `#/components/schemas/${called}` }
    }
  }

  const inside = (value: unknown, suffix: string): unknown => {
    if (Array.isArray(value)) return value.map(one => inside(one, suffix))
    if (!isObject(value)) return value
    const deep: Json = Object.fromEntries(
      Object.entries(value).map(([key, one]) =>
        key === 'examples' || key === 'default' || key === 'enum' ? [key, one] : [key, inside(one, suffix)],
      ),
    )
    if (!isNamed(deep)) return deep
    const { title, description, ...schema } = deep
    const reference = kept(schema, title as string, suffix)
    return description === undefined ? reference : { ...reference, description }
  }

  const place = (schema: Json, name: string, suffix: string): Json => {
    const placed = inside(schema, suffix) as Json
    return 'properties' in placed ? kept(placed, name, suffix) : placed
  }

  return { schemas, of: suffix => ({ schemas, place: (schema, name) => place(schema, name, suffix) }) }
}
