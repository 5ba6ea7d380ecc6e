/**
 * Stands for the schema library in the bundle, and loads it with the first value that is not plainly right. Every route
 * declares schemas; making them all would be a third of the time to start, and a sandbox uses only a few of them.
 */
import { accept, undecided, type Recipe } from './accept.ts'

type Library = Readonly<Record<string, (...args: unknown[]) => unknown>>
type Load = () => Library

/**
 * A placeholder for a schema, or for a check of one, until it is needed. Every start makes all of them, so it is no more than its
 * recipe: with a closure to make it, a list and private names they took 1.8 ms of processor more.
 */
class Deferred implements Recipe {
  readonly name: string
  readonly args: readonly unknown[]
  private readonly load: Load
  private real: unknown = undefined
  private facts: object[] | undefined = undefined

  constructor(name: string, args: readonly unknown[], load: Load) {
    this.name = name
    this.args = args
    this.load = load
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  get made(): any {
    if (this.real === undefined) {
      const args = this.args.map(known)
      if (this.name === 'checked')
        this.real = (args[0] as { check(...checks: unknown[]): unknown }).check(...args.slice(1))
      else this.real = this.load()[this.name]?.(...args)
      for (const facts of this.facts ?? []) registryOf(this.load).add(this.real, facts)
    }
    return this.real
  }

  describe(facts: object): void {
    this.facts = [...(this.facts ?? []), facts]
  }

  // The methods that our code calls on schemas. Any other fails at once, and must be added here.
  check(...checks: unknown[]): Deferred {
    return new Deferred('checked', [this, ...checks], this.load)
  }
  parse(value: unknown, context?: unknown): unknown {
    const taken = this.accept(value)
    return taken === undecided ? this.made.parse(value, context) : taken
  }
  safeParse(value: unknown, context?: unknown): unknown {
    const taken = this.accept(value)
    return taken === undecided ? this.made.safeParse(value, context) : { success: true, data: taken }
  }
  private accept(value: unknown): unknown {
    return this.real === undefined ? accept(value, this, recipeOf) : undecided
  }
  get shape(): unknown {
    return this.made.shape
  }
}

const recipeOf = (value: unknown): Recipe | undefined => (value instanceof Deferred ? value : undefined)

interface Registry {
  add(shape: unknown, facts: object): void
}
const registryOf = (load: Load): Registry => load()['globalRegistry'] as unknown as Registry

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** `value` with the deferred schemas replaced by the library's own. */
const known = (value: unknown): unknown => {
  if (value instanceof Deferred) return value.made
  if (Array.isArray(value)) return value.map(known)
  return isPlain(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, known(item)])) : value
}

/** The function `name` of the library that `load` returns; it makes its schema when that is first used. */
export const deferred =
  (load: Load, name: string) =>
  (...args: unknown[]): Deferred =>
    new Deferred(name, args, load)

/** The same for a function whose result is needed at once. */
export const direct =
  (load: Load, name: string) =>
  (...args: unknown[]): unknown =>
    load()[name]?.(...args.map(known))

/** The library's registry of schema metadata; an entry is added when its schema is made. */
export const deferredRegistry = {
  add: (shape: Deferred, facts: object): void => shape.describe(facts),
}
