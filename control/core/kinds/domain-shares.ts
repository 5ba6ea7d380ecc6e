/**
 * Custom domains that other workspaces of the account may use. Each of these has a record of its own of the same name, which
 * says whose domain it is; deleting that one ends the share.
 */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { onNewest, type Draft } from '../transitions/transition.ts'
import type { Action, Asked } from '../records/action.ts'
import { answer, attempts, find, pokeAll, withInstances, type Actor, type Context } from '../records/context.ts'
import type { Found, Spec } from '../records/kind.ts'
import type { Resource, Workspace } from '../store/store.ts'

/** In place of a workspace: every one of the account that there is. */
const everyWorkspace = 'account'

/** The workspace whose domain a record shows; undefined in that workspace itself. */
export const sharedFrom = ({ spec }: { readonly spec: Spec }): string | undefined =>
  spec['sharedFromWorkspace'] as string | undefined

/** Throws `wrong_state`: what is shared is its owner's to change. */
export const needOwned = (record: Resource, wanted: string): void => {
  const owner = sharedFrom(record)
  if (!owner) return
  throw fail('wrong_state', { kind: 'custom domain', name: record.name, state: `shared from "${owner}"`, wanted })
}

/** The other workspaces of the account. */
const others = async ({ store }: Pick<Context, 'store'>, workspace: string): Promise<Workspace[]> => {
  const own = await store.tenants.workspace(workspace)
  const all = own ? await store.tenants.workspaces(own.account) : []
  return all.filter(({ name }) => name !== workspace)
}

const copyIn = async (
  { store }: Pick<Context, 'store'>,
  { kind, name, workspace: owner }: Resource,
  workspace: string,
) => {
  const found = await store.resources.get({ kind, workspace, parent: '', name })
  return found && sharedFrom(found) === owner ? found : undefined
}

/** Where it is shared to, with the records there. */
const targetsOf = async (context: Pick<Context, 'store'>, record: Resource) => {
  const workspaces = await others(context, record.workspace)
  const copies = await Promise.all(workspaces.map(({ name }) => copyIn(context, record, name)))
  return workspaces.flatMap((workspace, at) => (copies[at] ? [{ workspace, copy: copies[at] }] : []))
}

/** Throws `in_use` for a domain that other workspaces have a share of. */
export const needUnshared = async (context: Pick<Context, 'store'>, record: Resource): Promise<void> => {
  const targets = sharedFrom(record) ? [] : await targetsOf(context, record)
  const users = targets.slice(0, 3).map(({ workspace }) => `workspace "${workspace.name}"`)
  if (users.length > 0)
    throw fail('in_use', { kind: 'custom domain', name: record.name, users, more: targets.length - users.length })
}

/** The workspaces that are meant; throws `not_found` for one that is not of the account. */
const meant = async (context: Context, { workspace }: Actor, target: string): Promise<Workspace[]> => {
  if (target === workspace) throw fail('invalid_argument', { field: 'targetWorkspace', reason: 'is its own workspace' })
  const all = await others(context, workspace)
  if (target === everyWorkspace) return all
  const found = all.find(({ name, id }) => name === target || id === target)
  if (!found) throw fail('not_found', { kind: 'workspace', name: target })
  return [found]
}

const checkSharable = (record: Resource): void => {
  needOwned(record, 'a share')
  const { name, status, spec } = record
  if (spec['domainType'] !== 'previews')
    throw fail('invalid_argument', { field: 'spec.domainType', reason: 'only domains of previews can be shared' })
  if (status !== 'verified')
    throw fail('wrong_state', { kind: 'custom domain', name, state: status, wanted: 'a share' })
}

const copyFor = (context: Context, { name: by }: Actor, record: Resource, workspace: string): Draft => {
  const { kind, name, metadata, spec } = record
  return {
    uid: context.ids.uuid(),
    kind,
    workspace,
    parent: '',
    name,
    metadata: { ...metadata, createdBy: by, updatedBy: by },
    spec: { ...spec, sharedFromWorkspace: record.workspace },
  }
}

/** The record as it is now: it changes by what is written beside it. */
const renewed = async (context: Context, actor: Actor, name: string) =>
  answer(context, await withInstances(context, context.kind, (await find(context, actor, name, {})).record))

const share = async (context: Context, { actor, body, found }: Asked): Promise<unknown> => {
  const { name } = (found as Found).record
  const { targetWorkspace: target } = body as { targetWorkspace: string }
  await onNewest(async () => {
    const { record } = await find(context, actor, name, {})
    checkSharable(record)
    const workspaces = await meant(context, actor, target)
    const shared = new Set((await targetsOf(context, record)).map(({ workspace }) => workspace.name))
    const missing = workspaces.filter(workspace => !shared.has(workspace.name))
    if (missing.length === 0) throw fail('already_exists', { kind: 'share with', name: target })
    const copies = missing.map(workspace => ({
      create: copyFor(context, actor, record, workspace.name),
      message: `shared from workspace ${record.workspace}`,
    }))
    // Whoever deletes the domain at the same time sees that it has changed.
    pokeAll(context, await context.transition.write([{ record, change: {} }, ...copies]))
  }, attempts)
  return renewed(context, actor, name)
}

const unshare = async (context: Context, { actor, params, found }: Asked): Promise<unknown> => {
  const { record } = found as Found
  const target = params['targetWorkspace'] as string
  const targets = await targetsOf(context, record)
  const ending = targets.filter(
    ({ workspace }) => target === everyWorkspace || [workspace.name, workspace.id].includes(target),
  )
  if (ending.length === 0) throw fail('not_found', { kind: 'share with', name: target })
  pokeAll(context, await context.transition.write(ending.map(({ copy }) => ({ remove: copy }))))
  return renewed(context, actor, record.name)
}

const member = { role: 'member' } as const
const changing = { scope: 'customdomains:update', role: 'admin' } as const

export const shareActions: readonly Action[] = [
  {
    name: 'shares',
    summary: 'Lists the workspaces that a domain is shared with',
    method: 'GET',
    path: 'share',
    on: 'record',
    access: { scope: 'customdomains:get', ...member },
    returns: s.array(
      s.object({ workspace: s.string(), workspaceDisplayName: s.string(), status: s.literal('active') }),
    ),
    run: async (context, { found }) =>
      (await targetsOf(context, (found as Found).record)).map(({ workspace: { name, displayName } }) => ({
        workspace: name,
        workspaceDisplayName: displayName,
        status: 'active',
      })),
  },
  {
    name: 'share',
    summary: 'Shares a verified domain with a workspace of the account, or with all that there are ("account")',
    method: 'POST',
    path: 'share',
    on: 'record',
    access: changing,
    body: s.object({ targetWorkspace: text(256) }),
    errors: ['already_exists', 'wrong_state', 'changed_meanwhile'],
    run: share,
  },
  {
    name: 'unshare',
    summary: 'Ends a share; refused while the other workspace uses the domain',
    method: 'DELETE',
    path: 'share/:targetWorkspace',
    on: 'record',
    access: changing,
    errors: ['in_use', 'changed_meanwhile'],
    run: unshare,
  },
]
