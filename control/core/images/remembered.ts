/** Small files that every create reads and that are replaced whole: what was read of one holds while the same file is there. */
import { statSync } from 'node:fs'
import { errno } from '../../../shared/errors.ts'

export type Remember = <T>(file: string, read: () => Promise<T | undefined>) => Promise<T | undefined>

/** Those asked for least lately go first. */
const most = 1_000

/** A file that takes another's place is another one, or was made at another time. Undefined when there is none. */
const stampOf = (file: string): string | undefined => {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found && `${found.ino} ${found.ctimeMs} ${found.size}`
  } catch (error) {
    // A reference may be longer than a file's name.
    if (errno(error) === 'ENAMETOOLONG') return undefined
    throw error
  }
}

export const remembering = (): Remember => {
  const known = new Map<string, { readonly stamp: string; readonly value: unknown }>()
  return async <T>(file: string, read: () => Promise<T | undefined>) => {
    const stamp = stampOf(file)
    const before = known.get(file)
    known.delete(file)
    if (stamp === undefined) return undefined
    // One that is replaced between the look and the reading has another stamp at the next look.
    const value = before?.stamp === stamp ? (before.value as T) : await read()
    if (value === undefined) return undefined
    known.set(file, { stamp, value })
    const [oldest] = known.keys()
    if (known.size > most && oldest !== undefined) known.delete(oldest)
    return value
  }
}
