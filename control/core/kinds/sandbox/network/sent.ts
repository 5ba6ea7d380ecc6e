/** Members that come as JSON or as a string that holds JSON, and are answered in the form they came in. */
import { described, problemsOf, s, toJsonSchema, type Out, type Shape } from '../../../../../shared/schema.ts'

/** A class, so that no object that somebody sends is taken for one. */
class Sent<T> {
  readonly asText: boolean
  readonly value: T

  constructor(asText: boolean, value: T) {
    this.asText = asText
    this.value = value
  }
}

const valueOf = (given: unknown): unknown => {
  if (typeof given !== 'string') return given
  try {
    return JSON.parse(given) as unknown
  } catch {
    // Not JSON: the shape says what it wants instead.
    return given
  }
}

/** The shape itself, or a string that holds it as JSON; which of both is kept beside it. */
export const sent = <S extends Shape>(shape: S) =>
  described(
    s.pipe(
      s.unknown().check(context => {
        for (const { field, reason } of problemsOf(shape, valueOf(context.value)))
          context.issues.push({
            code: 'custom',
            message: reason,
            path: field.split('.').filter(Boolean),
            input: context.value,
          })
      }),
      s.transform((given: unknown) => new Sent(typeof given === 'string', shape.parse(valueOf(given)) as Out<S>)),
    ),
    { anyOf: [toJsonSchema(shape), { type: 'string', description: 'the same as JSON in a string' }] },
  )

/** The document as plain values, and the paths of what came as text (`routing.0.headers`), inner ones first. */
export const unwrap = (value: unknown, path: readonly string[] = []): { value: unknown; texts: string[] } => {
  if (value instanceof Sent) {
    const inner = unwrap(value.value, path)
    return { value: inner.value, texts: value.asText ? [...inner.texts, path.join('.')] : inner.texts }
  }
  if (typeof value !== 'object' || value === null) return { value, texts: [] }
  const entries = Object.entries(value).map(([key, member]) => ({ key, ...unwrap(member, [...path, key]) }))
  const texts = entries.flatMap(entry => entry.texts)
  if (Array.isArray(value)) return { value: entries.map(entry => entry.value), texts }
  return { value: Object.fromEntries(entries.map(entry => [entry.key, entry.value])), texts }
}

const replaceAt = (value: unknown, [key, ...rest]: readonly string[]): unknown => {
  if (value === undefined || value === null) return value
  if (key === undefined) return JSON.stringify(value)
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === key ? replaceAt(item, rest) : item))
  const object = value as Readonly<Record<string, unknown>>
  return key in object ? { ...object, [key]: replaceAt(object[key], rest) } : object
}

/** The reverse of `unwrap`: what came as text is text again. */
export const rewrap = (value: unknown, texts: readonly string[]): unknown =>
  texts.reduce((result, path) => replaceAt(result, path.split('.')), value)
