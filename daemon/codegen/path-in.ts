import { posix } from 'node:path'
import { fail } from '../../shared/errors.ts'

/** The absolute path of a tool's argument. Throws `invalid_argument` naming `field`. */
export const pathIn = (workdir: string, field: string, given: string): string => {
  if (given.includes('\0')) throw fail('invalid_argument', { field, reason: 'must not contain NUL' })
  return posix.resolve(workdir, given)
}
