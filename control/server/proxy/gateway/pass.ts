/** What a browser holds after a login: a sealed pass to one port of one record, which says whose key it stands for. */
import { parse, s, type Out } from '../../../../shared/schema.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'

const shape = s.object({
  use: s.literal('access'),
  /** SHA-256 of the API key, as stored: a key that is revoked takes its passes with it. */
  keyHash: s.string(),
  kind: s.string(),
  workspace: s.string(),
  name: s.string(),
  /** Id of the record, which another one of the same name does not have. */
  owner: s.string(),
  /** Null for the terminal. */
  port: s.nullable(s.int()),
  /** Milliseconds since 1970. */
  expiresAt: s.int(),
})

export type Pass = Omit<Out<typeof shape>, 'use'>

export const sealPass = (sealer: Sealer, pass: Pass): string => sealer.seal(JSON.stringify({ use: 'access', ...pass }))

/** Undefined for one that is over, and for whatever was not sealed here. */
export const openPass = (sealer: Sealer, text: string, now: number): Pass | undefined => {
  try {
    const pass = parse(shape, JSON.parse(sealer.open(text)), 'config')
    return pass.expiresAt > now ? pass : undefined
  } catch {
    // A cookie holds what a browser was told to keep, by whomever.
    return undefined
  }
}
