/**
 * Loads the bundled daemon's pieces inside the sandbox: CommonJS functions compiled through `vm.Script` with the code
 * cache of a warm run, so that a start compiles nothing. A cache that V8 rejects (another version, other flags) only
 * costs time.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { createRequire as CreateRequire } from 'node:module'
import { join } from 'node:path'
import { Script } from 'node:vm'

type Wrapped = (
  exports: object,
  require: (name: string) => unknown,
  module: object,
  filename: string,
  dirname: string,
) => void

interface Piece {
  readonly script: Script
  /** Whether V8 accepted the cache; undefined when there was none. */
  readonly rejected: boolean | undefined
}

const readIfThere = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path)
  } catch {
    // Without a cache the piece is compiled as it is read.
    return undefined
  }
}

/** One of Node's own modules, or undefined. Not by `require`, whose first call takes a millisecond of the start. */
const builtin = (name: string): object | undefined => process.getBuiltinModule(name)

/**
 * One of Node's own modules, loaded when one of its exports is first used. The daemon imports a dozen; half are not
 * needed at the start, and `node:crypto` alone takes a tenth of the time to start.
 */
const whenUsed = (load: () => object): object => {
  let loaded: object | undefined
  const known = (): object => (loaded ??= load())
  return new Proxy(
    {},
    {
      // The bundler's code checks this for ES modules, which these are not.
      get: (_, key) => (key === '__esModule' ? undefined : Reflect.get(known(), key)),
      has: (_, key) => Reflect.has(known(), key),
      ownKeys: () => Reflect.ownKeys(known()),
      getOwnPropertyDescriptor: (_, key) => {
        const found = Reflect.getOwnPropertyDescriptor(known(), key)
        return found && { ...found, configurable: true }
      },
    },
  )
}

/** Loaded in every Node already, and used most. */
const atOnce = new Set(['node:fs', 'node:path', 'node:buffer', 'node:events', 'node:process'])

/** A `load` of the pieces in `dir`, and what it has loaded so far. */
export const loader = (dir: string) => {
  /** Node's search for a package goes up to /node_modules, which is a tenant's: only what lies here is loaded. */
  const packageHere = (name: string): unknown => {
    const found = existsSync(join(dir, 'node_modules', name))
    if (!found) throw Object.assign(new Error(`${name} is not in the bundle`), { code: 'MODULE_NOT_FOUND' })
    const { createRequire } = builtin('node:module') as { createRequire: typeof CreateRequire }
    return createRequire(join(dir, 'loader.js'))(join(dir, 'node_modules', name))
  }
  const modules = new Map<string, { exports: object }>()
  const pieces = new Map<string, Piece>()
  const require = (name: string): unknown => {
    if (name.startsWith('./')) return load(name.slice(2))
    if (name.startsWith('node:') && !atOnce.has(name)) return whenUsed(() => builtin(name) as object)
    // Packages name them without `node:`.
    return builtin(name) ?? packageHere(name)
  }
  const load = (name: string): object => {
    const known = modules.get(name)
    if (known) return known.exports
    const within = modules.get('main.js')?.exports as Record<string, object> | undefined
    if (within?.[name]) return within[name]
    const module = { exports: {} }
    const filename = join(dir, name)
    const cachedData = readIfThere(`${filename}.cache`)
    // The pieces are ASCII: a one-byte string takes half the memory of a two-byte one.
    const script = new Script(readFileSync(filename, 'latin1'), { filename, ...(cachedData && { cachedData }) })
    pieces.set(name, { script, rejected: script.cachedDataRejected })
    const run = script.runInThisContext() as Wrapped
    modules.set(name, module)
    run(module.exports, require, module, filename, dir)
    return module.exports
  }
  return { load, pieces }
}
