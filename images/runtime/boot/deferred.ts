/**
 * Stands for the schema library in the bundle, and loads it with the first value that is not plainly right. Every route
 * declares schemas; making them all would be a third of the time to start, and a sandbox uses only a few of them.
 */
import { accept, undecided, type Recipe } from './accept.ts'

type Library = Readonly<Record<string, (...args: unknown[]) => unknown>>

/** A placeholder for a schema, or for a check of one, until it is needed. */
class Deferred {
  readonly #make: () => unknown
  readonly #then: ((shape: unknown) => void)[] = []
  readonly #recipe: Recipe
  #made: unknown

  constructor(recipe: Recipe, make: () => unknown) {
    this.#recipe = recipe
    this.#make = make
  }

  static recipeOf(this: void, value: unknown): Recipe | undefined {
    return value instanceof Deferred ? value.#recipe : undefined
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  get made(): any {
    if (this.#made === undefined) {
      this.#made = this.#make()
      for (const run of this.#then) run(this.#made)
    }
    return this.#made
  }

  whenMade(run: (shape: unknown) => void): void {
    this.#then.push(run)
  }

  // The methods that our code calls on schemas. Any other fails at once, and must be added here.
  check(...checks: unknown[]): Deferred {
    return new Deferred({ name: 'check', args: [this, ...checks] }, () => this.made.check(...checks.map(known)))
  }
  parse(value: unknown, context?: unknown): unknown {
    const taken = this.#accept(value)
    return taken === undecided ? this.made.parse(value, context) : taken
  }
  safeParse(value: unknown, context?: unknown): unknown {
    const taken = this.#accept(value)
    return taken === undecided ? this.made.safeParse(value, context) : { success: true, data: taken }
  }
  #accept(value: unknown): unknown {
    return this.#made === undefined ? accept(value, this, Deferred.recipeOf) : undecided
  }
  get shape(): unknown {
    return this.made.shape
  }
}

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
  (load: () => Library, name: string) =>
  (...args: unknown[]): Deferred =>
    new Deferred({ name, args }, () => load()[name]?.(...args.map(known)))

/** The same for a function whose result is needed at once. */
export const direct =
  (load: () => Library, name: string) =>
  (...args: unknown[]): unknown =>
    load()[name]?.(...args.map(known))

/** The library's registry of schema metadata; an entry is added when its schema is made. */
export const deferredRegistry = (load: () => Library) => ({
  add(shape: Deferred, facts: object): void {
    const registry = () => load()['globalRegistry'] as unknown as { add(shape: unknown, facts: object): void }
    shape.whenMade(made => registry().add(made, facts))
  },
})
