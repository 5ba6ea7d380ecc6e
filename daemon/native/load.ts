/** Finds and loads the C addons, from the sources and from the bundled daemon alike. */
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'

/** Where the addons are: `build/` beside this file, or `native/` beside the CommonJS bundle. */
const addonDirectory = (): string =>
  // The bundle has no import.meta, the sources have no __dirname.
  import.meta.dirname === undefined ? join(__dirname, 'native') : join(import.meta.dirname, 'build')

/** Loads `<name>.node`. Throws with `ERR_DLOPEN_FAILED` when it was not built (images/setup/native.sh). */
export const loadAddon = <T>(name: string, directory = addonDirectory()): T => {
  const module = { exports: {} }
  process.dlopen(module, join(directory, `${name}.node`))
  return module.exports as T
}

/**
 * The first call makes the value, later calls return it: addons are loaded when they are first needed, not at import.
 */
export const lazy = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** A failed system call as Node reports them: `code`, `errno`, `syscall`. `errno` is positive. */
export const systemError = (syscall: string, errno: number, detail = ''): NodeJS.ErrnoException => {
  const code = getSystemErrorName(-errno)
  const error: NodeJS.ErrnoException = new Error(`${syscall}: ${code}${detail && ` (${detail})`}`)
  return Object.assign(error, { code, errno: -errno, syscall })
}

/** Returns a result; throws one below zero, which is a negated errno, as an Error. */
export const check = (syscall: string, result: number, detail?: string): number => {
  if (result < 0) throw systemError(syscall, -result, detail)
  return result
}
