/** What an API's document does not explain. */
type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members without a text, as `{parent}.{name}`. */
export const untold = (schema: Json, parent: string): string[] =>
  Object.entries(schema).flatMap(([key, value]) => {
    if (key === 'examples' || key === 'default') return []
    if (key === 'properties' && isObject(value))
      return Object.entries(value).flatMap(([name, member]) => [
        ...((member as Json)['description'] === undefined ? [`${parent}.${name}`] : []),
        ...untold(member as Json, name),
      ])
    if (Array.isArray(value)) return value.flatMap(one => (isObject(one) ? untold(one, parent) : []))
    return isObject(value) ? untold(value, parent) : []
  })
