/** Modes as the API writes them: the octal digits of Go's `fs.FileMode`, whose special bits are not POSIX's. */
import { constants } from 'node:fs'
import { fail } from '../../shared/errors.ts'

const types: Readonly<Record<number, number>> = {
  [constants.S_IFREG]: 0,
  [constants.S_IFDIR]: 0o20000000000,
  [constants.S_IFLNK]: 0o1000000000,
  [constants.S_IFIFO]: 0o200000000,
  [constants.S_IFSOCK]: 0o100000000,
  [constants.S_IFBLK]: 0o400000000,
  [constants.S_IFCHR]: 0o410000000,
}

/** `644`, `20000000755`, `1000000777`, … of a kernel `st_mode`. */
export const permissionsOf = (mode: number): string => {
  const special = (mode & 0o4000 ? 0o40000000 : 0) + (mode & 0o2000 ? 0o20000000 : 0) + (mode & 0o1000 ? 0o4000000 : 0)
  return ((types[mode & constants.S_IFMT] ?? 0) + special + (mode & 0o777)).toString(8)
}

/** The mode of an octal string such as `0644`; empty or absent is `otherwise`. Throws `invalid_argument`. */
export const parseMode = (text: string | undefined, otherwise: number): number => {
  if (text === undefined || text === '') return otherwise
  const mode = /^[0-7]{1,12}$/.test(text) ? Number.parseInt(text, 8) : Number.NaN
  if (!(mode <= 0o7777))
    throw fail('invalid_argument', { field: 'permissions', reason: `must be octal digits up to 7777, not "${text}"` })
  return mode
}
