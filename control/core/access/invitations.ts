/** How the `user` kind has a person invited; people and their links are the sign-in server's (server/access/identity). */
import type { Ids } from '../../../shared/ids.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { IdentityChange } from '../store/store.ts'

/** How long an invitation can be accepted, ms. */
export const invitationMs = 7 * 86_400_000

export interface Invited {
  /** Of the record. */
  readonly uid: string
  readonly email: string
  readonly workspace: string
  readonly role: string
  readonly invitedBy: string
}

export interface MadeInvitation {
  /** The link to show to the inviter, where nothing is mailed. */
  readonly link?: string
  /** Written in the transaction that invites. */
  readonly changes: readonly IdentityChange[]
  /** Epoch ms. */
  readonly expiresAt: number
}

export interface Invitations {
  make(invited: Invited, makers: { readonly ids: Ids; readonly sealer: Sealer; readonly now: number }): MadeInvitation
}
