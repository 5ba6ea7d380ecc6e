import { posix } from 'node:path'
import { fail, messageOf } from '../../shared/errors.ts'
import type { FilePort } from '../filesystem/port.ts'
import { walk } from './walk.ts'

const maxResults = 10

/** The characters of `query` occur in `name` in that order; case does not matter. */
export const isSubsequence = (query: string, name: string): boolean => {
  const wanted = [...query.toLowerCase()]
  let next = 0
  for (const character of name.toLowerCase()) if (character === wanted[next]) next++
  return next >= wanted.length
}

/** A directory at or below `workdir`, links resolved. Throws `invalid_argument`. */
export const directoryInside = async (port: FilePort, workdir: string, directory: string): Promise<string> => {
  const refuse = (reason: string, cause?: unknown) => fail('invalid_argument', { field: 'directory', reason }, cause)
  if (directory.includes('\0')) throw refuse('must not contain NUL')
  const root = await port.realpath(workdir)
  const real = await port.realpath(posix.resolve(workdir, directory)).catch(error => {
    throw refuse(messageOf(error), error)
  })
  if (real !== root && !real.startsWith(root === '/' ? '/' : `${root}/`))
    throw refuse('must be inside the working directory')
  if ((await port.stat(real)).kind !== 'directory') throw refuse('is not a directory')
  return real
}

/** At most ten files whose base name matches `query`, as absolute paths, shallow ones first. Hidden files count too. */
export const searchFiles = async (
  deps: { port: FilePort; workdir: string },
  asked: { query: string; directory?: string | undefined },
  signal: AbortSignal,
): Promise<string[]> => {
  const { port, workdir } = deps
  const found: string[] = []
  for await (const path of walk(port, await directoryInside(port, workdir, asked.directory ?? '.'), { signal })) {
    if (isSubsequence(asked.query, posix.basename(path))) found.push(path)
    if (found.length === maxResults) break
  }
  return found
}
