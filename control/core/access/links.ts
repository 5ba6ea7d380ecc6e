/** Links that are good once: their secret is in the address, and its hash in the store. */
import type { Ids } from '../../../shared/ids.ts'
import { hashKey } from './keys.ts'
import type { IdentityChange, Link } from '../store/store.ts'

const day = 86_400_000
/** How long an invitation can be accepted, ms. */
export const invitationMs = 7 * day

/** How long each can be used, ms. */
const validMs = {
  /** Makes an admin of the account `subject`. */
  admin: day,
  /** Lets somebody into a workspace, by the record `subject`; whoever has it was given it by hand. */
  invitation: invitationMs,
  /** The same, sent to the address that was invited: whoever has it reads mail there. */
  mailed: invitationMs,
  /** Sets the password of the person `subject`. */
  password: day,
} as const

export type Purpose = keyof typeof validMs

export interface NewLink {
  /** Without the host. */
  readonly address: string
  readonly change: IdentityChange
  readonly expiresAt: number
}

const joinPath = '/v0/oauth/join'

export const newLink = (ids: Pick<Ids, 'secret'>, purpose: Purpose, subject: string, now: number): NewLink => {
  const token = ids.secret(32)
  const expiresAt = now + validMs[purpose]
  const link: Link = { hash: hashKey(token), purpose, subject, expiresAt }
  return { address: `${joinPath}?token=${token}`, change: { link }, expiresAt }
}
