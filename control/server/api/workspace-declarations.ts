/** The endpoints of workspaces as declared; `workspaces.ts` answers them. */
import { route } from '../../../shared/route.ts'
import { flag, s, text } from '../../../shared/schema.ts'
import { labelsInput } from '../../core/records/metadata.ts'
import type { Access, Role } from '../../core/access/access.ts'
import { bodyLimit } from './surface.ts'

const answer = s.object({
  id: s.string(),
  name: s.string(),
  displayName: s.string(),
  labels: s.optional(s.record(s.string(), s.string())),
  accountId: s.string(),
  status: s.literal('ready'),
  createdAt: s.string(),
  updatedAt: s.string(),
  createdBy: s.optional(s.string()),
  updatedBy: s.optional(s.string()),
  resourceCounts: s.optional(s.record(s.string(), s.int())),
})

export { answer as workspaceAnswer }

const common = (action: string, role: Role) => {
  const access: Access = { scope: `workspaces:${action}`, role }
  return { family: 'workspaces', extra: { tenant: 'none', access } } as const
}

const params = s.object({ workspaceName: s.string() })

const changes = { displayName: s.nullish(text(63)), labels: s.nullish(labelsInput) }

export const listWorkspaces = route('GET /v0/workspaces', {
  ...common('list', 'member'),
  id: 'workspaces.list',
  summary: 'Lists the workspaces the caller reaches',
  returns: s.array(answer),
})

export const getWorkspace = route('GET /v0/workspaces/:workspaceName', {
  ...common('get', 'member'),
  id: 'workspaces.get',
  summary: 'Answers one workspace, by name or id',
  params,
  query: s.object({ countResources: flag() }),
  returns: answer,
  errors: ['not_found', 'forbidden'],
})

export const createWorkspace = route('POST /v0/workspaces', {
  ...common('create', 'account'),
  id: 'workspaces.create',
  summary: 'Creates a workspace; account admins only',
  body: s.object({ name: text(256), ...changes }),
  bodyLimit,
  returns: answer,
  errors: ['invalid_argument', 'invalid_body', 'already_exists', 'forbidden'],
})

export const updateWorkspace = route('PUT /v0/workspaces/:workspaceName', {
  ...common('update', 'admin'),
  id: 'workspaces.update',
  summary: 'Changes display name and labels of a workspace',
  params,
  body: s.object({ name: s.nullish(text(256)), ...changes }),
  bodyLimit,
  returns: answer,
  errors: ['invalid_argument', 'invalid_body', 'not_found', 'forbidden'],
})

export const removeWorkspace = route('DELETE /v0/workspaces/:workspaceName', {
  ...common('delete', 'admin'),
  id: 'workspaces.delete',
  summary:
    'Deletes a workspace with its keys and all that is in it, and stops its machines; bill, events and drives stay, and so does its name',
  params,
  returns: s.extend(answer, { message: s.string() }),
  errors: ['not_found', 'forbidden', 'wrong_state'],
})

export const workspaceAvailability = route('POST /v0/workspaces/availability', {
  family: 'workspaces',
  extra: { tenant: 'none', access: { scope: 'admin', role: 'member' } satisfies Access },
  id: 'workspaces.availability',
  summary: 'Says whether a name can be given to a new workspace',
  query: s.object({ withReason: flag() }),
  body: s.object({ name: text(256) }),
  bodyLimit,
  returns: s.union([
    s.boolean(),
    s.object({
      available: s.boolean(),
      reason: s.enum(['', 'taken', 'forbidden_reserved', 'forbidden_svc', 'forbidden_v_prefix']),
      message: s.string(),
    }),
  ]),
  errors: ['invalid_argument', 'invalid_body'],
})
