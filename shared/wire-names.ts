/**
 * The vendor prefix of names on the wire is configuration: headers `X-Svc-…`, environment names `SVC_…`.
 * This is the one function that knows which spellings are accepted.
 */
import { fail } from './errors.ts'

/** A vendor prefix that clients use: header word (`Svc`), short word (`svc`), image prefix (`svc`). */
export interface WireName {
  readonly header: string
  readonly short: string
  readonly image: string
}

/** Accepted spellings of a name, preferred first. */
export interface WireNames {
  readonly list: readonly WireName[]
  /** `WORKSPACE` → `SVC_WORKSPACE`; also the full word for vendors whose short word differs from it. */
  env(suffix: string): string[]
  /** `UID_MAP` → `SVCFS_UID_MAP`. */
  driveEnv(suffix: string): string[]
  /** `subject-id` → `x-svc-subject-id`, lower case as Node gives header names. */
  header(suffix: string): string[]
}

const seed: WireName = { header: 'Svc', short: 'svc', image: 'svc' }

/** Parses `Header:short[:image],…`; an empty value gives the neutral `Svc`. Throws `invalid_argument` naming `field`. */
export const parseWireNames = (value: string | undefined, field: string): readonly WireName[] => {
  if (!value) return [seed]
  const names = value.split(',').map(part => {
    const [header = '', short = header.toLowerCase(), image = short, ...more] = part.trim().split(':')
    const isName =
      /^[A-Za-z][A-Za-z0-9]*$/.test(header) && /^[a-z][a-z0-9]*$/.test(short) && /^[a-z][a-z0-9-]*$/.test(image)
    if (!isName || more.length > 0)
      throw fail('invalid_argument', { field, reason: `"${part}" is not Header:short[:image]` })
    return { header, short, image }
  })
  const twice = names.find(({ header }, index) => names.findIndex(other => other.header === header) !== index)
  if (twice) throw fail('invalid_argument', { field, reason: `"${twice.header}" is there twice` })
  return names
}

export const wireNames = (list: readonly WireName[]): WireNames => ({
  list,
  env: suffix => [
    ...new Set([
      ...list.map(name => `${name.short.toUpperCase()}_${suffix}`),
      ...list.map(name => `${name.header.toUpperCase()}_${suffix}`),
    ]),
  ],
  driveEnv: suffix => list.map(name => `${name.short.toUpperCase()}FS_${suffix}`),
  header: suffix => list.map(name => `x-${name.header.toLowerCase()}-${suffix}`),
})
