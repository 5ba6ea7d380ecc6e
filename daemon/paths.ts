/**
 * How a path in an address becomes a path on disk. Existing clients encode the same path in several ways and rely on
 * where each of them lands, so the rules are reproduced literally rather than tidied up:
 *
 * | sent                        | means               |
 * |-----------------------------|---------------------|
 * | `/filesystem/%2Ftmp%2Fa`    | `/tmp/a`            |
 * | `/filesystem%2Ftmp%2Fa`     | `/tmp/a`            |
 * | `/filesystem//tmp/a`        | `/tmp/a`            |
 * | `/filesystem/src/a`         | workdir + `/src/a`  |
 * | `/filesystem/src%2Fa`       | `/src/a` (absolute) |
 * | `/filesystem/`              | workdir             |
 * | `/filesystem/~/a`           | `$HOME/a`           |
 */
import { posix } from 'node:path'
import { fail } from '../shared/errors.ts'

interface PathOptions {
  /** Where relative paths begin; absolute. */
  workdir(): string
  /** `$HOME` as it is now, for a leading `~`. */
  home(): string | undefined
  /** Paths outside of it are refused; default `/`, which confines nothing. */
  readonly root?: string
}

export interface Paths {
  readonly workdir: string
  /** Addressed and normalised: the path as it is shown in answers (relative stays relative). */
  requested(rawPath: string, rest: string): string
  /** Normalises a path that did not come from an address (a tool's argument). Throws `invalid_argument`. */
  normal(path: string): string
  /** The absolute, lexically clean path on disk. Throws `invalid_argument` outside of the root. */
  absolute(path: string): string
}

/**
 * The path that an address names, before normalisation. `rawPath` is the undecoded request path, `rest` what the
 * route's `*rest` matched: everything after the slash that follows the route's prefix. An upper-case `%2F` anywhere
 * makes the path absolute; a lower-case one does not.
 */
export const addressed = (rawPath: string, rest: string): string => {
  if (rest.includes('\0')) throw fail('invalid_argument', { field: 'path', reason: 'must not contain NUL' })
  if (rawPath.includes('%2F')) return `/${rest}`
  return rest === '' ? '.' : rest
}

/** A tree path is always absolute: one leading slash, none repeated. */
export const treePath = (rest: string): string => {
  if (rest.includes('\0')) throw fail('invalid_argument', { field: 'path', reason: 'must not contain NUL' })
  return `/${rest}`.replace(/\/{2,}/g, '/')
}

export const createPaths = (options: PathOptions): Paths => {
  const { root = '/' } = options
  const normal = (path: string): string => {
    if (path.includes('\0')) throw fail('invalid_argument', { field: 'path', reason: 'must not contain NUL' })
    let expanded = path === '' ? '.' : path
    if (expanded.startsWith('~')) {
      const home = options.home()
      if (!home) throw fail('invalid_argument', { field: 'path', reason: 'begins with ~ but HOME is not set' })
      expanded = home + expanded.slice(1)
    }
    return expanded.replace(/\/{2,}/g, '/')
  }
  return {
    get workdir() {
      return options.workdir()
    },
    normal,
    requested: (rawPath, rest) => normal(addressed(rawPath, rest)),
    absolute(path) {
      const clean = posix.resolve(options.workdir(), path)
      const inside = root === '/' || clean === root || clean.startsWith(`${root}/`)
      if (!inside) throw fail('invalid_argument', { field: 'path', reason: `is outside of ${root}` })
      return clean
    },
  }
}
