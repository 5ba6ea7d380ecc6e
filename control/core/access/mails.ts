/** What mails say, and how one is stored until it is sent. */
import type { Ids } from '../../../shared/ids.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { IdentityChange } from '../store/store.ts'

export interface MailText {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Names come from people: one line each, so that nobody writes a letter of their own into ours. */
const line = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, 120)

export const invitationMail = (of: {
  email: string
  workspace: string
  invitedBy: string
  link: string
}): MailText => ({
  to: of.email,
  subject: `You are invited to the workspace ${line(of.workspace)}`,
  text: `${line(of.invitedBy)} invites you to the workspace ${line(of.workspace)}.

Open this address to accept. It can be used once, within seven days:

${of.link}

If you do not know what this is about, do nothing.
`,
})

export const mailChange = (
  { ids, sealer, now }: { ids: Ids; sealer: Sealer; now: number },
  { expiresAt, ...text }: MailText & { readonly expiresAt: number },
): IdentityChange => ({
  mail: { id: ids.uuid(), sealed: sealer.seal(JSON.stringify(text)), dueAt: now, attempts: 0, expiresAt },
})
