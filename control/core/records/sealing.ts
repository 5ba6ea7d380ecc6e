/** Secret members of specs: encrypted where they are stored, masked where they are answered, kept when the mask comes back. */
import { fail } from '../../../shared/errors.ts'
import { environmentBytes, tooMany } from '../../../shared/variables.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Spec } from './kind.ts'

/** What a secret looks like to everybody who may not see it; sent back in an update, it means "as it was". */
export const mask = '***'

export interface SealedMember {
  /** Where it is in the spec. */
  readonly at: readonly [string, ...string[]]
  /** `texts`: every value of a map. `envs`: the values of variables that say `secret`. */
  readonly as: 'texts' | 'envs'
}

export type StoredEnv =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly secret: true; readonly sealed: string }

export interface EnvGiven {
  readonly name: string
  readonly value?: string | null | undefined
  readonly secret?: boolean | null | undefined
}

const unknownMask = (field: string, name: string) =>
  fail('invalid_argument', { field, reason: `"${mask}" stands for a stored secret, and "${name}" has none` })

/** Sealed again, a secret looks different each time: one that did not change stays as it was. */
const resealed = (value: string, kept: string | undefined, sealer: Sealer): string =>
  kept !== undefined && sealer.open(kept) === value ? kept : sealer.seal(value)

/** Throws `invalid_argument` when no process could be started with all of them. */
const needRoom = (envs: readonly StoredEnv[], field: string, sealer: Sealer): void => {
  const plain = envs.map(env => [env.name, 'sealed' in env ? sealer.open(env.sealed) : env.value] as const)
  const reason = tooMany(plain, environmentBytes.sandbox)
  if (reason !== undefined) throw fail('invalid_argument', { field, reason })
}

/** Variables as stored; `field` is where they came from. */
export const sealEnvs = (
  envs: readonly EnvGiven[],
  previous: readonly StoredEnv[],
  field: string,
  sealer: Sealer,
): StoredEnv[] => {
  const stored = envs.map((env, at): StoredEnv => {
    const { name, secret } = env
    const value = env.value ?? ''
    if (!secret) return { name, value }
    const found = previous.findLast(old => old.name === name)
    const kept = found && 'sealed' in found ? found : undefined
    if (value !== mask) return { name, secret: true, sealed: resealed(value, kept?.sealed, sealer) }
    if (kept) return kept
    throw unknownMask(`${field}.${at}.value`, name)
  })
  needRoom(stored, field, sealer)
  return stored
}

/** Variables as answered: opened for those who may, masked for the others. */
export const presentEnvs = (envs: readonly StoredEnv[], open: ((sealed: string) => string) | undefined) =>
  envs.map(env =>
    'sealed' in env ? { name: env.name, value: open ? open(env.sealed) : mask, secret: true } : { ...env },
  )

type Texts = Readonly<Record<string, string>>

const sealTexts = (texts: Texts, previous: Texts, field: string, sealer: Sealer): Texts =>
  Object.fromEntries(
    Object.entries(texts).map(([name, value]) => {
      const kept = Object.hasOwn(previous, name) ? previous[name] : undefined
      if (value !== mask) return [name, resealed(value, kept, sealer)]
      if (kept === undefined) throw unknownMask(`${field}.${name}`, name)
      return [name, kept]
    }),
  )

const at = (spec: unknown, [first, ...rest]: readonly string[]): unknown => {
  if (first === undefined) return spec
  return typeof spec === 'object' && spec !== null ? at((spec as Spec)[first], rest) : undefined
}

/** The spec with another value there; one that has nothing there stays as it is. */
const replaced = (spec: Spec, [first, ...rest]: readonly string[], value: unknown): Spec => {
  if (first === undefined) return spec
  return { ...spec, [first]: rest.length > 0 ? replaced(spec[first] as Spec, rest, value) : value }
}

const changed = (
  spec: Spec,
  members: readonly SealedMember[],
  change: (value: never, member: SealedMember) => unknown,
) =>
  members.reduce((now, member) => {
    const value = at(now, member.at)
    return value === undefined || value === null ? now : replaced(now, member.at, change(value as never, member))
  }, spec)

/** A spec as sent, its secrets sealed, or as they were where the mask was sent. Throws `invalid_argument` naming the member. */
export const sealSpec = (
  spec: Spec,
  previous: Spec | undefined,
  members: readonly SealedMember[],
  sealer: Sealer,
): Spec =>
  changed(spec, members, (value, member) => {
    const field = `spec.${member.at.join('.')}`
    const before = at(previous, member.at)
    return member.as === 'envs'
      ? sealEnvs(value, (before ?? []) as StoredEnv[], field, sealer)
      : sealTexts(value, (before ?? {}) as Texts, field, sealer)
  })

/** A stored spec as answered. */
export const openSpec = (
  spec: Spec,
  members: readonly SealedMember[],
  open: ((sealed: string) => string) | undefined,
): Spec =>
  changed(spec, members, (value, member) =>
    member.as === 'envs'
      ? presentEnvs(value, open)
      : Object.fromEntries(Object.entries(value as Texts).map(([name, sealed]) => [name, open ? open(sealed) : mask])),
  )
