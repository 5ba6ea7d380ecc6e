/** Workspaces: where resources live. A key sees those it reaches; account admins make new ones. */
import type { Clock } from '../../../shared/clock.ts'
import { fail, isError } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import { handle, json, type Bound, type Context } from '../../../shared/route.ts'
import { needAccess } from '../../core/access/access.ts'
import { inWorkspace, needReach, reaches } from '../../core/access/keys.ts'
import type { Kind } from '../../core/records/kind.ts'
import type { RemoveWorkspace } from '../../core/records/remove-workspace.ts'
import { checkName } from '../../core/records/naming.ts'
import type { AuditEntry, Store, Workspace } from '../../core/store/store.ts'
import type { WireNames } from '../../base/wire/names.ts'
import { factsOf } from './surface.ts'
import {
  createWorkspace,
  getWorkspace,
  listWorkspaces,
  removeWorkspace,
  updateWorkspace,
  workspaceAvailability,
} from './workspace-declarations.ts'

const present = (workspace: Workspace) => {
  const { id, name, displayName, labels, account, createdAt, updatedAt = createdAt, createdBy, updatedBy } = workspace
  return {
    id,
    name,
    displayName,
    ...(labels ? { labels: { ...labels } } : {}),
    accountId: account,
    status: 'ready' as const,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    ...(createdBy ? { createdBy } : {}),
    ...(updatedBy ? { updatedBy } : {}),
  }
}

export { present as presentWorkspace }

/** Host names and paths of this host begin with these. */
const reserved: ReadonlySet<string> = new Set(['any', 'api', 'run'])

/** Names share their first path segment with the versions of the API: `/v0`. */
const looksLikeVersion = (name: string): boolean => /^v\d/.test(name)

const checkWorkspaceName = ({ names }: Deps, name: string): string => {
  const refuse = (reason: string) => fail('invalid_argument', { field: 'name', reason })
  if (looksLikeVersion(name)) throw refuse('must not look like a version of the API')
  if (reserved.has(name)) throw refuse('is reserved')
  if (names.isBranded(name)) throw refuse('is reserved for the vendor')
  return checkName(name, 'name')
}

const keepsName = 'its bill, its events and its drives are kept under it'

interface Deps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly kinds: readonly Kind[]
  readonly names: Pick<WireNames, 'isBranded'>
  readonly removeWorkspace: RemoveWorkspace
  /** How many images a workspace is answered. */
  readonly countImages: (workspace: string) => Promise<number>
}

/** The workspace of that name or id; throws `not_found`, or `forbidden` for one out of reach. */
const need = async ({ store }: Deps, nameOrId: string, context: Context): Promise<Workspace> => {
  const found = await store.tenants.workspace(nameOrId)
  if (!found) throw fail('not_found', { kind: 'workspace', name: nameOrId })
  needReach(factsOf(context).key, found)
  return found
}

/** The same, for who is an admin of it. Throws `forbidden`. */
const needAdministered = async (deps: Deps, nameOrId: string, context: Context): Promise<Workspace> => {
  const found = await need(deps, nameOrId, context)
  needAccess({ scope: [], role: 'admin' }, inWorkspace(factsOf(context).key, found))
  return found
}

const countsIn = async ({ store, kinds, countImages }: Deps, workspace: string): Promise<Record<string, number>> => {
  const pairs = kinds.map(async ({ kind, plural }) => [plural, await store.resources.count(kind, workspace)] as const)
  return { ...Object.fromEntries(await Promise.all(pairs)), images: await countImages(workspace) }
}

type Refusal = 'taken' | 'forbidden_reserved' | 'forbidden_svc' | 'forbidden_v_prefix'

const availability = async ({ store, names }: Deps, name: string) => {
  const no = (reason: Refusal, message: string) => ({ available: false, reason, message })
  if (looksLikeVersion(name)) return no('forbidden_v_prefix', 'looks like a version of the API')
  if (reserved.has(name)) return no('forbidden_reserved', 'is reserved')
  if (names.isBranded(name)) return no('forbidden_svc', 'is reserved for the vendor')
  try {
    checkName(name, 'name')
  } catch (error) {
    if (isError(error)) return no('forbidden_reserved', error.message)
    throw error
  }
  if (await store.tenants.workspace(name)) return no('taken', 'is taken')
  if (await store.tenants.isTaken(name))
    return no('taken', `was a workspace that is deleted, and is not given again: ${keepsName}`)
  return { available: true, reason: '' as const, message: '' }
}

/** The answer, with a header that names those of whose labels nobody knows. */
const warning = <T extends object>(context: Context, shown: readonly Workspace[], answer: T) => {
  const torn = shown.filter(({ unreadable }) => unreadable)
  if (torn.length === 0) return answer
  const warnings = torn.map(({ name }) => ({ path: `${name}.labels`, says: 'cannot be read' }))
  return json(answer, { headers: factsOf(context).warn(warnings) })
}

const reading = (deps: Deps): Bound[] => [
  handle(listWorkspaces, async (_input, context) => {
    const { key } = factsOf(context)
    const all = await deps.store.tenants.workspaces(key.account)
    const reached = all.filter(workspace => reaches(key, workspace))
    return warning(context, reached, reached.map(present))
  }),
  handle(getWorkspace, async ({ params: { workspaceName }, query }, context) => {
    const found = await need(deps, workspaceName, context)
    const counts = query.countResources ? { resourceCounts: await countsIn(deps, found.name) } : {}
    return warning(context, [found], { ...present(found), ...counts })
  }),
  handle(workspaceAvailability, async ({ query, body }) => {
    const answer = await availability(deps, body.name)
    return query.withReason ? answer : answer.available
  }),
]

const auditOf = (context: Context, action: string, { id, name, account }: Workspace): AuditEntry => ({
  ...factsOf(context).by,
  account,
  workspace: name,
  action,
  kind: 'workspace',
  name,
  uid: id,
  detail: {},
})

export const workspaceRoutes = (deps: Deps): Bound[] => {
  const { store, clock, ids } = deps
  return [
    ...reading(deps),
    handle(createWorkspace, async ({ body }, context) => {
      const { key } = factsOf(context)
      const name = checkWorkspaceName(deps, body.name)
      const made: Workspace = {
        id: ids.uuid(),
        name,
        account: key.account,
        displayName: body.displayName || name,
        ...(body.labels ? { labels: body.labels } : {}),
        createdBy: key.name,
        updatedBy: key.name,
        createdAt: clock.now(),
      }
      await store.tenants.addWorkspace(made, auditOf(context, 'create', made))
      return present(made)
    }),
    handle(updateWorkspace, async ({ params, body }, context) => {
      const found = await needAdministered(deps, params.workspaceName, context)
      const { name } = found
      if (body.name && body.name !== name)
        throw fail('invalid_argument', { field: 'name', reason: `cannot be changed from "${name}"` })
      const { displayName, labels } = body
      return present(
        await store.tenants.updateWorkspace(
          name,
          {
            ...(displayName === undefined ? {} : { displayName: displayName || name }),
            ...(labels === undefined ? {} : { labels: labels ?? {} }),
            updatedBy: factsOf(context).key.name,
            updatedAt: clock.now(),
          },
          auditOf(context, 'update', found),
        ),
      )
    }),
    handle(removeWorkspace, async ({ params }, context) => {
      const found = await needAdministered(deps, params.workspaceName, context)
      await deps.removeWorkspace(found.name, factsOf(context).by)
      return { ...present(found), message: `the name "${found.name}" is not given again: ${keepsName}` }
    }),
  ]
}
