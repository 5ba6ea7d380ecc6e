/**
 * Takes a value that is as a deferred schema wants it, without the schema library: loading that for the first body takes twice the
 * processor time of what the body asks for. Of what it does not know, and of all that is wrong, it says nothing: then the
 * library is loaded, which alone says what is wrong.
 *
 * What is known here is what the library makes of the same calls (https://zod.dev/packages/mini, zod 4).
 */

/** The call that a schema, or a check of one, is made by; `checked`, a schema's own method `check`, has the schema as its first argument. */
export interface Recipe {
  readonly name: string
  readonly args: readonly unknown[]
}
/** The call that `value` stands for; undefined when it stands for none. */
export type RecipeOf = (value: unknown) => Recipe | undefined

/** The library has to look at it. */
export const undecided = Symbol('undecided')

type Accept = (value: unknown, args: readonly unknown[], recipeOf: RecipeOf) => unknown
type Test = (value: unknown, args: readonly unknown[]) => boolean

const hasLength = (value: unknown): value is string | unknown[] => typeof value === 'string' || Array.isArray(value)

const checks: Readonly<Record<string, Test>> = {
  maxLength: (value, [most]) => hasLength(value) && value.length <= (most as number),
  minLength: (value, [least]) => hasLength(value) && value.length >= (least as number),
  maximum: (value, [most]) => typeof value === 'number' && value <= (most as number),
  minimum: (value, [least]) => typeof value === 'number' && value >= (least as number),
  regex: (value, [pattern]) => typeof value === 'string' && new RegExp(pattern as RegExp).test(value),
  refine: (value, [isRight]) => (isRight as (value: unknown) => unknown)(value) === true,
}

const passes = (value: unknown, check: unknown, recipeOf: RecipeOf): boolean => {
  if (typeof check === 'function') {
    const payload = { value, issues: [] as unknown[] }
    return (check as (payload: object) => unknown)(payload) === undefined && payload.issues.length === 0
  }
  const recipe = recipeOf(check)
  return recipe !== undefined && checks[recipe.name]?.(value, recipe.args) === true
}

/** Whether an object may lack a member of that schema. */
const mayBeAbsent = (schema: unknown, recipeOf: RecipeOf): boolean => {
  const { name = '', args = [] } = recipeOf(schema) ?? {}
  if (name === 'pipe' || name === 'nullable' || name === 'checked') return mayBeAbsent(args[0], recipeOf)
  return name === 'optional' || name === 'nullish' || name === '_default'
}

const only =
  (isRight: (value: unknown) => boolean): Accept =>
  value =>
    isRight(value) ? value : undecided

/** What stands for nothing is taken as it is, unless the schema within has a word on it. */
const unless =
  (isNothing: (value: unknown) => boolean): Accept =>
  (value, [schema], recipeOf) => {
    if (!isNothing(value)) return accept(value, schema, recipeOf)
    return mayBeAbsent(schema, recipeOf) ? undecided : value
  }

const members: Accept = (value, [shape], recipeOf) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undecided
  const given = value as Record<string, unknown>
  const taken: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(shape as object)) {
    const isThere = key in given
    if (!isThere && !mayBeAbsent(schema, recipeOf)) return undecided
    const item = accept(given[key], schema, recipeOf)
    if (item === undecided) return undecided
    if (isThere || item !== undefined) taken[key] = item
  }
  return taken
}

/** Names that the schema of names changes, and those of an object's own workings, are the library's to take. */
const named: Accept = (value, [names, schema], recipeOf) => {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return undecided
  const taken: Record<string, unknown> = {}
  for (const [key, given] of Object.entries(value)) {
    const item = accept(given, schema, recipeOf)
    if (key === '__proto__' || item === undecided || accept(key, names, recipeOf) !== key) return undecided
    taken[key] = item
  }
  return taken
}

const isOfStrings = (schema: unknown, recipeOf: RecipeOf): boolean => {
  const { name = '', args = [] } = recipeOf(schema) ?? {}
  return name === 'string' || (name === 'checked' && isOfStrings(args[0], recipeOf))
}

const schemas: Readonly<Record<string, Accept>> = {
  string: only(value => typeof value === 'string'),
  boolean: only(value => typeof value === 'boolean'),
  number: only(Number.isFinite),
  int: only(Number.isSafeInteger),
  unknown: value => value,
  enum: (value, [values]) => (Array.isArray(values) && values.includes(value) ? value : undecided),
  optional: unless(value => value === undefined),
  nullable: unless(value => value === null),
  nullish: unless(value => value === undefined || value === null),
  _default: (value, [schema, otherwise], recipeOf) => {
    if (value !== undefined) return accept(value, schema, recipeOf)
    return typeof otherwise === 'object' || typeof otherwise === 'function' ? undecided : otherwise
  },
  array: (value, [schema], recipeOf) => {
    if (!Array.isArray(value)) return undecided
    const items = value.map(item => accept(item, schema, recipeOf))
    return items.includes(undecided) ? undecided : items
  },
  object: members,
  strictObject: (value, args, recipeOf) => {
    const taken = members(value, args, recipeOf)
    if (taken === undecided) return undecided
    for (const key in value as object) if (!Object.hasOwn(args[0] as object, key)) return undecided
    return taken
  },
  record: (value, args, recipeOf) => (isOfStrings(args[0], recipeOf) ? named(value, args, recipeOf) : undecided),
  pipe: (value, [first, second], recipeOf) => {
    const between = accept(value, first, recipeOf)
    return between === undecided ? undecided : accept(between, second, recipeOf)
  },
  // One that takes more than the value may add problems.
  transform: (value, [change]) =>
    typeof change === 'function' && change.length === 1 ? (change as (value: unknown) => unknown)(value) : undecided,
  checked: (value, [schema, ...all], recipeOf) => {
    const taken = accept(value, schema, recipeOf)
    if (taken === undecided || !all.every(check => passes(taken, check, recipeOf))) return undecided
    return taken
  },
}

/** What the library would make of `value`, or `undecided`. */
export const accept = (value: unknown, schema: unknown, recipeOf: RecipeOf): unknown => {
  const recipe = recipeOf(schema)
  const way = recipe && schemas[recipe.name]
  return way ? way(value, recipe.args, recipeOf) : undecided
}
