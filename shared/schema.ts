/**
 * Our vocabulary of shapes: zod/mini (small and quick to load in the daemon), and the two things done with a
 * shape: parse what came in, and describe it as JSON Schema. The only import of the schema library.
 */
import * as s from 'zod/mini'
import { fail } from './errors.ts'

export { s }
export type Shape = s.ZodMiniType
export type Out<S extends Shape> = s.output<S>
export type In<S extends Shape> = s.input<S>

/** Where the value came from; decides the wording of the error. */
export type Origin = 'body' | 'query' | 'params' | 'config'

const article = (word: string) => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`)
const kinds: Readonly<Record<string, string>> = { int: 'an integer', record: 'an object', nonoptional: 'given' }

/** Our wording for failures of checks that have none of their own, whatever messages the library has loaded. */
const reasonOf = (issue: s.core.$ZodRawIssue): string => {
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is missing' : `must be ${kinds[issue.expected] ?? article(issue.expected)}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  const origin = 'origin' in issue ? issue.origin : ''
  const unit = origin === 'string' ? ' characters' : origin === 'array' ? ' items' : ''
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}${unit}`
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}${unit}`
  if (issue.code === 'unrecognized_keys') return `has no field ${issue.keys.join(', ')}`
  if (issue.code === 'invalid_key') return 'has a key that is not allowed'
  return 'is not valid'
}

export interface Problem {
  /** Path of the wrong field, `spec.runtime.memory`; '' for the value as a whole. */
  readonly field: string
  readonly reason: string
}

/** All that is wrong with `value`, in the order of the shape; empty when nothing is. */
export const problemsOf = (shape: Shape, value: unknown): Problem[] =>
  (shape.safeParse(value, { error: reasonOf }).error?.issues ?? []).map(issue => ({
    field: issue.path.map(String).join('.'),
    reason: issue.message,
  }))

/**
 * Parses `value`. Throws `invalid_argument` naming the first wrong field by its path
 * (`spec.runtime.memory`), or `invalid_body` when the body as a whole has the wrong type.
 */
export const parse = <S extends Shape>(shape: S, value: unknown, origin: Origin): Out<S> => {
  const result = shape.safeParse(value, { error: reasonOf })
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const field = issue?.path.map(String).join('.') ?? ''
  const reason = issue?.message ?? 'is not valid'
  if (origin === 'body') throw fail('invalid_body', { reason: field ? `${field}: ${reason}` : reason })
  throw fail('invalid_argument', { field: field || origin, reason })
}

/** The library says of every integer that a double can hold it. */
const isNoBound = (key: string, value: unknown): boolean =>
  (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) || (key === 'maximum' && value === Number.MAX_SAFE_INTEGER)

/** What may be null as well, in one schema where it is of one type. */
const nullable = (options: readonly Record<string, unknown>[]): Record<string, unknown> | undefined => {
  const [one, ...more] = options.filter(({ type }) => type !== 'null')
  const isPlain = one && more.length === 0 && options.length === 2 && typeof one['type'] === 'string'
  if (!isPlain || one['type'] === 'object' || one['type'] === 'array' || 'const' in one) return undefined
  const values = one['enum']
  return { ...one, type: [one['type'], 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) }
}

const plain = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(plain)
  if (typeof schema !== 'object' || schema === null) return schema
  const { anyOf, ...rest } = Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => (isNoBound(key, value) ? [] : [[key, plain(value)]])),
  )
  if (anyOf === undefined) return rest
  const merged = nullable(anyOf as Record<string, unknown>[])
  return merged ? { ...merged, ...rest } : { ...rest, anyOf }
}

/** JSON Schema (2020-12) of a shape; `input` describes what may be sent, `output` what is answered. */
export const toJsonSchema = (shape: Shape, io: 'input' | 'output' = 'input'): Record<string, unknown> => {
  const { $schema: _, ...schema } = s.toJSONSchema(shape, { io, unrepresentable: 'any' }) as Record<string, unknown>
  return plain(schema) as Record<string, unknown>
}

/** Text of at most `max` characters without NUL. Half a character (a surrogate without its other) would be stored as another one. */
export const text = (max = 65_536) =>
  s.string().check(
    s.maxLength(max, `must be at most ${max} characters`),
    s.refine(value => !value.includes('\0'), 'must not contain NUL'),
    s.refine(value => value.isWellFormed(), 'must be Unicode without lone surrogates'),
  )

/** Gives a shape the JSON Schema it has in documents, where the computed one says too little. */
export const described = <S extends Shape>(shape: S, schema: Record<string, unknown>): S => {
  s.globalRegistry.add(shape, schema)
  return shape
}

/** Member of a JSON Schema: what is sent there is accepted and changes nothing. */
export const withoutEffect = 'x-without-effect'

/** The shape itself, or a string that holds it as JSON. */
export const jsonOr = <S extends Shape>(shape: S) =>
  described(
    s.pipe(
      s.transform((value: unknown) => {
        if (typeof value !== 'string') return value
        try {
          return JSON.parse(value) as unknown
        } catch {
          // Not JSON: the shape says what it wants instead.
          return value
        }
      }),
      shape,
    ),
    { anyOf: [toJsonSchema(shape), { type: 'string', description: 'The same as JSON in a string' }] },
  )

/** Query values arrive as text: `'true'` is true, everything else false (exact match, as clients rely on). */
export const flag = () =>
  described(
    s.pipe(
      s.optional(s.string()),
      s.transform((value: string | undefined) => value === 'true'),
    ),
    { type: ['boolean', 'string'], description: 'true; anything else is false' },
  )

/** May be absent or null, which is the same to clients of languages that cannot leave a field out. */
export const orNull = <S extends Shape>(shape: S) =>
  s.pipe(
    s.optional(s.nullable(shape)),
    s.transform((value: Out<S> | null | undefined): Out<S> | undefined => value ?? undefined),
  )

/** Texts by name, names of at most `max` characters without NUL. Keeps `__proto__`, which the library's record drops. */
export const texts = (max: number) =>
  described(
    s.pipe(
      s.unknown().check(context => {
        const { value, issues } = context
        const wrong = (message: string, ...path: string[]) =>
          void issues.push({ code: 'custom', message, path, input: value })
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong('must be an object')
        for (const [key, item] of Object.entries(value)) {
          if (key.includes('\0')) return wrong('has a key that holds NUL')
          if (key.length > max) return wrong(`has a key of more than ${max} characters`)
          if (typeof item !== 'string') return wrong('must be a string', key)
        }
      }),
      s.transform(value => value as Record<string, string>),
    ),
    { type: 'object', additionalProperties: { type: 'string' } },
  )

/** JSON Schema of an integer parameter that may be left empty. */
export const integerOrNothing = { type: ['integer', 'string'], pattern: '^$' }

/** An integer carried as text in a query, within [min, max], or undefined when absent or empty. */
export const intText = (min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) =>
  described(
    s.pipe(
      s.optional(s.string()).check(
        s.refine(value => value === undefined || value === '' || /^-?\d+$/.test(value), 'must be an integer'),
        s.refine(
          value => value === undefined || value === '' || (Number(value) >= min && Number(value) <= max),
          `must be between ${min} and ${max}`,
        ),
      ),
      s.transform((value: string | undefined) => (value === undefined || value === '' ? undefined : Number(value))),
    ),
    { ...integerOrNothing, minimum: min, maximum: max },
  )
