/** The invitation of a user, as whoever invites is answered, and who declines it. */
import { s, type Out } from '../../../shared/schema.ts'
import type { Resource } from '../store/store.ts'

export const memberRole = s.enum(['member', 'admin'])

export const invitationAnswer = s.object({
  email: s.string(),
  role: memberRole,
  workspace: s.string(),
  invitedBy: s.string(),
  expiresAt: s.string(),
  createdAt: s.string(),
  updatedAt: s.string(),
  createdBy: s.string(),
  updatedBy: s.string(),
})

const timeText = (time: number): string => new Date(time).toISOString()

/** When it is over, ISO 8601. */
export const endOf = ({ spec }: Pick<Resource, 'spec'>): string => timeText(spec['expiresAt'] as number)

export const presentInvitation = (record: Resource) => {
  const { name: email, workspace, createdAt, updatedAt, spec } = record
  const { createdBy, updatedBy } = record.metadata
  return {
    email,
    role: spec['role'] as Out<typeof memberRole>,
    workspace,
    invitedBy: createdBy,
    expiresAt: endOf(record),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
    createdBy,
    updatedBy,
  }
}
