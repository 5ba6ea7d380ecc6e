/** Query parameters that all searches share. */
import { fail } from '../../../shared/errors.ts'

const defaultExcludes: ReadonlySet<string> = new Set([
  'node_modules',
  'vendor',
  '.git',
  'dist',
  'build',
  'target',
  '__pycache__',
  '.venv',
  '.next',
  'coverage',
])
const maxResults = 1000

/** How many results at most: 0 asks for all, more than 1000 for 1000. Throws `invalid_argument`. */
export const limitOf = (text: string | undefined, otherwise: number): number => {
  if (text === undefined || text === '') return otherwise
  const value = /^[+-]?\d{1,15}$/.test(text) ? Number(text) : -1
  if (value < 0)
    throw fail('invalid_argument', {
      field: 'maxResults',
      reason: `invalid maxResults "${text}": an integer from 0 up`,
    })
  return value === 0 ? Number.POSITIVE_INFINITY : Math.min(value, maxResults)
}

export const listOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')

/** Base names of directories to leave out; an empty list means the usual ones. */
export const excludesOf = (text: string | undefined): ReadonlySet<string> => {
  const names = listOf(text)
  return names.length === 0 ? defaultExcludes : new Set(names)
}

/** Hidden entries are left out unless a value other than `true` is given. */
export const skipsHidden = (text: string | undefined): boolean => text === undefined || text === '' || text === 'true'
