/** Readers of single environment values. An invalid value counts as missing: the daemon must start in any image. */
import type { Out, Shape } from '../../shared/schema.ts'
import type { WireNames } from '../../shared/wire-names.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Go's spellings of a boolean, blanks trimmed; anything else is `fallback`. */
export const boolean = (value: string | undefined, fallback = false): boolean => {
  const given = value?.trim() ?? ''
  if (/^(1|t|true)$/i.test(given)) return true
  if (/^(0|f|false)$/i.test(given)) return false
  return fallback
}

/** A decimal integer within [min, max], else undefined. */
export const integer = (value: string | undefined, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined => {
  const given = value?.trim() ?? ''
  if (!/^\d{1,16}$/.test(given)) return undefined
  const parsed = Number(given)
  return parsed >= min && parsed <= max ? parsed : undefined
}

/** An integer, bytes for most callers, or the fallback. */
export const integerOr = (value: string | undefined, min: number, max: number, fallback: number): number =>
  integer(value, min, max) ?? fallback

/** A JSON document of that shape, else undefined. */
export const document = <S extends Shape>(shape: S, value: string | undefined): Out<S> | undefined => {
  try {
    const result = shape.safeParse(JSON.parse(value ?? ''))
    return result.success ? result.data : undefined
  } catch {
    // Not JSON counts as missing.
    return undefined
  }
}

/** A list of words in JSON; none for anything else. */
export const wordsOf = (env: Env, name: string): readonly string[] => {
  try {
    const value: unknown = JSON.parse(env[name] ?? '')
    return Array.isArray(value) && value.every(word => typeof word === 'string') ? value : []
  } catch {
    // Not JSON counts as missing.
    return []
  }
}

/** The first of the accepted spellings that is set; an empty value counts as set. */
export const vendor = (env: Env, names: WireNames, suffix: string): string | undefined =>
  names
    .env(suffix)
    .map(name => env[name])
    .find(value => value !== undefined)

/** Like `vendor`, for the variables of the drive tool. */
export const driveVendor = (env: Env, names: WireNames, suffix: string): string | undefined =>
  names
    .driveEnv(suffix)
    .map(name => env[name])
    .find(value => value !== undefined)
