/** A secret that the operator keeps in a file of its own, so that no list of processes and no unit shows it. */
import { readFile } from 'node:fs/promises'
import { errno, fail } from '../../shared/errors.ts'

/** '' for no file. Throws `invalid_argument` naming the variable when it cannot be read, or is empty. */
export const secretIn = async (path: string, variable: string): Promise<string> => {
  if (path === '') return ''
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fail(
      'invalid_argument',
      { field: variable, reason: `${path} cannot be read (${errno(error) ?? 'no file'})` },
      error,
    )
  })
  const secret = text.trim()
  if (secret === '') throw fail('invalid_argument', { field: variable, reason: `${path} is empty` })
  return secret
}
