/** Shares of images with another account: they wait until an admin of the target accepts or declines them. */
import { fail } from '../../../shared/errors.ts'
import { reply } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Asked } from '../records/action.ts'
import type { Context } from '../records/context.ts'
import type { Resource } from '../store/store.ts'
import { clashesOf, imageIn, shareKindName, shareOf, shares, twin } from './image-share-records.ts'

export const pendingShape = s.object({
  id: s.string(),
  resourceType: s.string(),
  imageName: s.string(),
  sourceAccountId: s.string(),
  sourceWorkspace: s.string(),
  sourceWorkspaceDisplayName: s.string(),
  targetAccountId: s.string(),
  targetWorkspace: s.string(),
  targetWorkspaceDisplayName: s.string(),
  sharedBy: s.string(),
  hasConflict: s.boolean(),
  createdAt: s.string(),
  expiresAt: s.string(),
})

const iso = (at: number) => new Date(at).toISOString()

export const pending = async (context: Context, record: Resource) => {
  const share = shareOf(record)
  const { resourceType, imageName, targetWorkspace, sharedBy, expiresAt = 0 } = share
  const [source, target] = await Promise.all(
    [share.sourceWorkspace, targetWorkspace].map(name => context.store.tenants.workspace(name)),
  )
  return {
    id: record.name,
    resourceType,
    imageName,
    sourceAccountId: share.sourceAccountId,
    sourceWorkspace: share.sourceWorkspace,
    sourceWorkspaceDisplayName: source?.displayName ?? '',
    targetAccountId: share.targetAccountId,
    targetWorkspace,
    targetWorkspaceDisplayName: target?.displayName ?? '',
    sharedBy,
    hasConflict: (await clashesOf(context, share)).length > 0,
    createdAt: iso(record.createdAt),
    expiresAt: iso(expiresAt),
  }
}

/** The pending share that an admin of its target answers. Throws `not_found`, `expired`. */
const incoming = async (context: Context, { actor, params }: Asked) => {
  const name = params['pendingShareId'] as string
  const record = await context.store.resources.get({
    kind: shareKindName,
    workspace: actor.workspace,
    parent: '',
    name,
  })
  const { direction, expiresAt } = record ? shareOf(record) : {}
  if (!record || direction !== 'in' || expiresAt === undefined) throw fail('not_found', { kind: 'pending share', name })
  if (expiresAt <= context.clock.now()) throw fail('expired', { kind: 'pending share', name })
  const other = await twin(context, record)
  return other ? [record, other] : [record]
}

export const accept = async (context: Context, asked: Asked): Promise<unknown> => {
  const found = await incoming(context, asked)
  const { resourceType, imageName, sourceWorkspace } = shareOf(found[0] as Resource)
  const image = await imageIn(context, sourceWorkspace, [resourceType, imageName])
  const { actor, query } = asked
  const clashes = await clashesOf(context, shareOf(found[0] as Resource))
  if (clashes[0] !== undefined && query?.['force'] !== true)
    throw fail('already_exists', { kind: `image of workspace ${actor.workspace}`, name: clashes[0] })
  const moves = found.map(record => {
    const { expiresAt: _, ...active } = shareOf(record)
    return { record, change: { spec: active } }
  })
  await context.transition.write(moves)
  // With force: what is shared takes the place of what was pulled; machines keep what they were made of.
  for (const reference of clashes) await context.sharable.forget(actor.workspace, reference)
  return image
}

export const decline = async (context: Context, asked: Asked): Promise<unknown> => {
  const found = await incoming(context, asked)
  await context.transition.write(found.map(remove => ({ remove })))
  return reply(204)
}

export const listPending = async (context: Context, { actor, query }: Asked): Promise<unknown> => {
  const all = await shares(context, actor.workspace, query?.['direction'] === 'outgoing' ? 'out' : 'in')
  const waiting = all.filter(one => (shareOf(one).expiresAt ?? 0) > context.clock.now())
  return Promise.all(waiting.map(one => pending(context, one)))
}
