/** Workspaces: where resources live. A key sees those it reaches; account admins make new ones. */
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { handle, route, type Bound, type Context } from '../../shared/route.ts'
import { flag, s, text } from '../../shared/schema.ts'
import { needReach, reaches } from '../auth/keys.ts'
import type { Kind } from '../resources/kind.ts'
import { checkName } from '../resources/metadata.ts'
import type { Store, Workspace } from '../store/store.ts'
import { bodyLimit, factsOf } from './surface.ts'

const answer = s.object({
  id: s.string(),
  name: s.string(),
  displayName: s.string(),
  accountId: s.string(),
  status: s.literal('ready'),
  createdAt: s.string(),
  resourceCounts: s.optional(s.record(s.string(), s.int())),
})

const common = { family: 'workspaces', extra: { tenant: 'none' } } as const

export const listWorkspaces = route('GET /v0/workspaces', {
  ...common,
  id: 'workspaces.list',
  summary: 'Lists the workspaces the caller reaches',
  returns: s.array(answer),
})

export const getWorkspace = route('GET /v0/workspaces/:workspaceName', {
  ...common,
  id: 'workspaces.get',
  summary: 'Answers one workspace, by name or id',
  params: s.object({ workspaceName: s.string() }),
  query: s.object({ countResources: flag() }),
  returns: answer,
  errors: ['not_found', 'forbidden'],
})

export const createWorkspace = route('POST /v0/workspaces', {
  ...common,
  id: 'workspaces.create',
  summary: 'Creates a workspace; account admins only',
  body: s.object({ name: text(256), displayName: s.nullish(text(63)) }),
  bodyLimit,
  returns: answer,
  errors: ['invalid_argument', 'invalid_body', 'already_exists', 'forbidden'],
})

const present = ({ id, name, displayName, account, createdAt }: Workspace) => ({
  id,
  name,
  displayName,
  accountId: account,
  status: 'ready' as const,
  createdAt: new Date(createdAt).toISOString(),
})

/** Names share their first path segment with the versions of the API: `/v0`. */
const checkWorkspaceName = (name: string): string => {
  if (/^v\d/.test(name))
    throw fail('invalid_argument', { field: 'name', reason: 'must not look like a version of the API' })
  return checkName(name, 'name')
}

export const workspaceRoutes = (deps: { store: Store; clock: Clock; ids: Ids; kinds: readonly Kind[] }): Bound[] => {
  const { store, clock, ids, kinds } = deps
  const { tenants } = store

  const reached = async (context: Context): Promise<Workspace[]> => {
    const { key } = factsOf(context)
    const all = await tenants.workspaces(key.account)
    return all.filter(workspace => reaches(key, workspace))
  }

  const counts = async (workspace: string): Promise<Record<string, number>> => {
    const pairs = kinds.map(async ({ kind, plural }) => [plural, await store.resources.count(kind, workspace)] as const)
    return Object.fromEntries(await Promise.all(pairs))
  }

  return [
    handle(listWorkspaces, async (_input, context) => (await reached(context)).map(present)),
    handle(getWorkspace, async ({ params: { workspaceName }, query }, context) => {
      const found = await tenants.workspace(workspaceName)
      if (!found) throw fail('not_found', { kind: 'workspace', name: workspaceName })
      needReach(factsOf(context).key, found)
      return { ...present(found), ...(query.countResources ? { resourceCounts: await counts(found.name) } : {}) }
    }),
    handle(createWorkspace, async ({ body }, context) => {
      const { key } = factsOf(context)
      if (!key.accountAdmin || key.workspace)
        throw fail('forbidden', { reason: 'creating a workspace needs an account admin' })
      const name = checkWorkspaceName(body.name)
      const made: Workspace = {
        id: ids.uuid(),
        name,
        account: key.account,
        displayName: body.displayName || name,
        createdAt: clock.now(),
      }
      await tenants.addWorkspace(made)
      return present(made)
    }),
  ]
}
