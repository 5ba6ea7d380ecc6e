/** What is written down and sent when somebody is invited into a workspace. */
import type { Ids } from '../../../../shared/ids.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { IdentityChange } from '../../../core/store/store.ts'
import { newLink, validMs } from './links.ts'
import { invitationMail } from './mail/texts.ts'
import { mailChange } from './mail/outbox.ts'

export interface Invited {
  /** Of the record. */
  readonly uid: string
  readonly email: string
  readonly workspace: string
  readonly role: string
  readonly invitedBy: string
}

export interface MadeInvitation {
  /** To be told to who invites, where nothing is mailed. */
  readonly link?: string
  readonly changes: readonly IdentityChange[]
  readonly expiresAt: number
}

export interface Invitations {
  make(invited: Invited, makers: { readonly ids: Ids; readonly sealer: Sealer; readonly now: number }): MadeInvitation
}

export const invitationMs = validMs.invitation

export const createInvitations = (deps: { publicUrl: () => string; sendsMail: boolean }): Invitations => ({
  make(invited, { ids, sealer, now }) {
    const { address, change, expiresAt } = newLink(ids, deps.sendsMail ? 'mailed' : 'invitation', invited.uid, now)
    const link = `${deps.publicUrl()}${address}`
    if (!deps.sendsMail) return { link, changes: [change], expiresAt }
    const mail = mailChange({ ids, sealer, now }, { ...invitationMail({ ...invited, link }), expiresAt })
    return { changes: [change, mail], expiresAt }
  },
})
