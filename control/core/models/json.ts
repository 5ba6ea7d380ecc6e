/** JSON of others: nothing of its shape is known. */
export type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [member: string]: Json }

export type JsonObject = { readonly [member: string]: Json }

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [])

export const textOr = (value: Json, otherwise = ''): string => (typeof value === 'string' ? value : otherwise)

/** The own member of an object; undefined of anything else. */
export const member = (value: Json, name: string): Json =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** `usage.tokens.input` */
export const at = (value: Json, path: string): Json => path.split('.').reduce<Json>(member, value)

/** Undefined for what is no JSON. */
export const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
