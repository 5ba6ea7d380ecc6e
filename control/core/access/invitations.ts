/** How a person is invited into a workspace: a link, and a mail where this host sends mails. */
import type { Ids } from '../../../shared/ids.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { IdentityChange } from '../store/store.ts'
import { newLink } from './links.ts'
import { invitationMail, mailChange } from './mails.ts'

export { invitationMs } from './links.ts'

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

export const createInvitations = (deps: { publicUrl: () => string; sendsMail: boolean }): Invitations => ({
  make(invited, { ids, sealer, now }) {
    const { address, change, expiresAt } = newLink(ids, deps.sendsMail ? 'mailed' : 'invitation', invited.uid, now)
    const link = `${deps.publicUrl()}${address}`
    if (!deps.sendsMail) return { link, changes: [change], expiresAt }
    const mail = mailChange({ ids, sealer, now }, { ...invitationMail({ ...invited, link }), expiresAt })
    return { changes: [change, mail], expiresAt }
  },
})
