/** Date-based versions of the management API. */
import { fail } from '../../../shared/errors.ts'
import { apiVersions, type ApiVersion } from '../../base/config/api-versions.ts'
import { headerOf } from '../../base/wire/names.ts'

export type Version = ApiVersion

/** How a request says its version, and which dates stand for one of ours. */
export interface VersionNames {
  /** Lower-case names of headers. */
  readonly headers: readonly string[]
  readonly accepted: Readonly<Record<string, Version>>
}

/** The version a request asks for; throws `invalid_api_version`, which lists the valid ones. */
export const versionOf = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  names: VersionNames,
): Version => {
  const given = headerOf(headers, names.headers)?.trim()
  if (!given) return apiVersions[0]
  const { accepted } = names
  const known =
    apiVersions.find(version => version === given) ?? (Object.hasOwn(accepted, given) ? accepted[given] : undefined)
  if (known) return known
  throw fail('invalid_api_version', {
    given: given.slice(0, 64),
    valid: [...apiVersions, ...Object.keys(accepted)],
  })
}

/** From this version on, lists come in pages: `{data, meta}`. */
export const pages = (version: Version): boolean => version >= '2026-04-28'
