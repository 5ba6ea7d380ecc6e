/** Date-based versions of the management API. */
import { fail } from '../../shared/errors.ts'
import { headerOf } from '../wire/names.ts'

/** Stable versions, oldest first; a request without the header gets the oldest. */
export const versions = ['2026-04-16', '2026-04-28'] as const
export type Version = (typeof versions)[number]

/** The version a request asks for; throws `invalid_api_version`, which lists the valid ones. */
export const versionOf = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  names: readonly string[],
): Version => {
  const given = headerOf(headers, names)?.trim()
  if (!given) return versions[0]
  const known = versions.find(version => version === given)
  if (!known) throw fail('invalid_api_version', { given: given.slice(0, 64), valid: versions })
  return known
}

/** From this version on, lists come in pages: `{data, meta}`. */
export const pages = (version: Version): boolean => version >= '2026-04-28'
