/** What is written down and sent when somebody is invited into a workspace. */
import type { Invitations } from '../../../core/access/invitations.ts'
import { newLink } from './links.ts'
import { invitationMail } from './mail/texts.ts'
import { mailChange } from './mail/outbox.ts'

export const createInvitations = (deps: { publicUrl: () => string; sendsMail: boolean }): Invitations => ({
  make(invited, { ids, sealer, now }) {
    const { address, change, expiresAt } = newLink(ids, deps.sendsMail ? 'mailed' : 'invitation', invited.uid, now)
    const link = `${deps.publicUrl()}${address}`
    if (!deps.sendsMail) return { link, changes: [change], expiresAt }
    const mail = mailChange({ ids, sealer, now }, { ...invitationMail({ ...invited, link }), expiresAt })
    return { changes: [change, mail], expiresAt }
  },
})
