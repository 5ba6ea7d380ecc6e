/** The address of a call: parameters into the path, the query behind it. */
import { fail } from '../../errors.ts'
import { escaped } from '../../utf8.ts'
import type { Decoding } from '../match.ts'
import type { AnyInput, AnyRoute } from './input.ts'

const refuse = (field: string, reason: string) => fail('invalid_argument', { field, reason })

const textOf = (field: string, value: unknown): string => {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw refuse(field, value === undefined ? 'is missing' : 'must be a string or a number')
}

/** One parameter, between two slashes. */
const segment = (name: string, value: unknown, decoding: Decoding): string => {
  const text = textOf(name, value)
  if (text === '') throw refuse(name, 'must not be empty')
  // There an encoded slash separates like any other, so that no address names it.
  if (decoding === 'whole' && text.includes('/')) throw refuse(name, 'must not contain a slash')
  return escaped(text)
}

/**
 * The last parameter, which takes the rest of the path. Where the path is decoded as a whole an encoded slash makes it
 * absolute, so an absolute one is encoded in one piece and a relative one by its parts; `./` keeps one whose first part is the
 * path of another route (`tree`) from being taken for it.
 */
const rest = (name: string, value: unknown, decoding: Decoding, taken: readonly unknown[]): string => {
  const text = textOf(name, value)
  if (text.includes('\0')) throw refuse(name, 'must not contain NUL')
  if (decoding === 'whole' && text.startsWith('/')) return escaped(text)
  const parts = text.split('/')
  const encoded = parts.map(escaped).join('/')
  return decoding === 'whole' && taken.includes(parts[0]) ? `./${encoded}` : encoded
}

const queryOf = (query: AnyInput['query'] = {}): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw refuse(name, 'must be a string, a number or a boolean')
    search.append(name, String(value))
  }
  return search.size > 0 ? `?${search.toString()}` : ''
}

/**
 * Path and query of a call, encoded as the API decodes them. Throws `invalid_argument` naming the parameter that no address can
 * carry.
 */
export const targetOf = (
  { path, extra }: AnyRoute,
  { params = {}, query }: Pick<AnyInput, 'params' | 'query'>,
  decoding: Decoding,
): string => {
  const taken = (extra['reserved'] ?? []) as readonly unknown[]
  const parts = path.split('/').map(part => {
    if (part.startsWith(':')) return segment(part.slice(1), params[part.slice(1)], decoding)
    return part.startsWith('*') ? rest(part.slice(1), params[part.slice(1)], decoding, taken) : part
  })
  return parts.join('/') + queryOf(query)
}
