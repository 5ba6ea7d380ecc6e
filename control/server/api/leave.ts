/** A user leaves a workspace: the record goes, and with it every key that was made for it. */
import { fail } from '../../../shared/errors.ts'
import { handle, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import { needReach } from '../../core/access/keys.ts'
import type { Crud } from '../../core/records/crud.ts'
import type { ApiKey, Resource, Store } from '../../core/store/store.ts'
import { factsOf } from './surface.ts'
import { workspaceAnswer } from './workspace-declarations.ts'
import { presentWorkspace } from './workspaces.ts'

export const leaveWorkspace = route('DELETE /v0/workspaces/:workspaceName/leave', {
  id: 'workspaces.leave',
  summary: 'Takes the caller, who must be a user of it, out of a workspace',
  family: 'workspaces',
  extra: { tenant: 'none', access: { scope: 'workspaces:leave', role: 'member' } satisfies Access },
  params: s.object({ workspaceName: s.string() }),
  returns: workspaceAnswer,
  errors: ['not_found', 'forbidden'],
})

/** The record of whoever calls: of a person, or what the key was made for. */
const userOf = async (store: Store, { owner, person }: ApiKey, workspace: string): Promise<Resource | undefined> => {
  if (owner !== null) return store.resources.getByUid(owner)
  for (const uid of person ? await store.identity.membershipsOf(person.sub) : []) {
    const record = await store.resources.getByUid(uid)
    if (record?.workspace === workspace) return record
  }
  return undefined
}

export const leaveRoutes = ({ store, verbs }: { store: Store; verbs: readonly Crud[] }): Bound[] => [
  handle(leaveWorkspace, async ({ params: { workspaceName } }, context) => {
    const { key, by } = factsOf(context)
    const workspace = await store.tenants.workspace(workspaceName)
    if (!workspace) throw fail('not_found', { kind: 'workspace', name: workspaceName })
    needReach(key, workspace)
    const record = await userOf(store, key, workspace.name)
    const of = record && verbs.find(({ kind }) => kind.leaves && kind.kind === record.kind)
    // Keys of the account and of service accounts are nobody who could leave.
    if (!of || record.workspace !== workspace.name) throw fail('not_found', { kind: 'user', name: key.name })
    await of.remove({ workspace: workspace.name, name: key.name, admin: false, by }, record.name)
    return presentWorkspace(workspace)
  }),
]
