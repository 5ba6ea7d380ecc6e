/** What people who are invited ask for, as declared; `invitations.ts` answers it. */
import { route } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import { invitationAnswer, memberRole } from '../../core/kinds/invitation.ts'
import { workspaceAnswer } from './workspace-declarations.ts'

const theirs = (scope: string) => {
  const access: Access = { scope, role: 'member' }
  return { family: 'invitations', extra: { tenant: 'none', access } } as const
}

const invitation = s.object({
  invitationId: s.string(),
  type: s.literal('workspace'),
  email: s.string(),
  role: memberRole,
  invitedAt: s.string(),
  expiresAt: s.string(),
  invitedBy: s.object({ email: s.string(), family_name: s.string(), given_name: s.string(), sub: s.string() }),
  account: s.object({ id: s.string(), displayName: s.string() }),
  workspace: s.object({ name: s.string(), displayName: s.string() }),
  workspaceDetails: s.object({ user_number: s.int(), emails: s.array(s.object({ email: s.string() })) }),
})

export const listInvitations = route('GET /v0/profile/invitations', {
  ...theirs('invitations:list'),
  id: 'invitations.list',
  summary: 'Lists the invitations of the caller, a person whose address is proven; 404 when there are none',
  returns: s.array(invitation),
  errors: ['not_found', 'forbidden'],
})

const params = s.object({ workspaceName: s.string() })

export const acceptInvitation = route('POST /v0/workspaces/:workspaceName/join', {
  ...theirs('workspaces:accept'),
  id: 'invitations.accept',
  summary: 'Accepts an invitation of the caller into a workspace',
  params,
  returns: s.object({ email: s.string(), workspace: workspaceAnswer }),
  errors: ['not_found', 'forbidden', 'changed_meanwhile'],
})

export const declineInvitation = route('POST /v0/workspaces/:workspaceName/decline', {
  ...theirs('workspaces:decline'),
  id: 'invitations.decline',
  summary: 'Declines an invitation of the caller into a workspace',
  params,
  returns: invitationAnswer,
  errors: ['not_found', 'forbidden', 'changed_meanwhile'],
})
