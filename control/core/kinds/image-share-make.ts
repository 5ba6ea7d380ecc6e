/** Shares of images as they are made, listed and ended by the workspace that shares. */
import { fail } from '../../../shared/errors.ts'
import { json } from '../../../shared/route.ts'
import type { Draft } from '../transitions/transition.ts'
import type { Asked } from '../records/action.ts'
import type { Actor, Context } from '../records/context.ts'
import type { Resource, Workspace } from '../store/store.ts'
import { pending } from './image-share-pending.ts'
import { clashesOf, imageIn, named, shareKindName, shareOf, sharesOf, twin, type Share } from './image-share-records.ts'

/** How long a share to another account can be accepted. */
const pendingMs = 7 * 86_400_000

const needWorkspace = async ({ store }: Context, name: string): Promise<Workspace> => {
  const found = await store.tenants.workspace(name)
  if (!found) throw fail('not_found', { kind: 'workspace', name })
  return found
}

/** Whom it is for. A workspace of another account is told apart from none only to those who know its account. */
const targetOf = async (context: Context, { actor, body }: Asked, source: Workspace): Promise<Workspace> => {
  const { targetWorkspace, targetAccountId } = body as { targetWorkspace: string; targetAccountId?: string | null }
  const found = await context.store.tenants.workspace(targetWorkspace)
  if (!found || found.account !== (targetAccountId || source.account))
    throw fail('not_found', { kind: 'workspace', name: targetWorkspace })
  if (found.name === actor.workspace)
    throw fail('invalid_argument', { field: 'targetWorkspace', reason: 'is the workspace that shares' })
  return found
}

const records = (context: Context, { name: by }: Actor, share: Omit<Share, 'direction'>): Draft[] => {
  const name = context.ids.uuid()
  const sides = [
    ['out', share.sourceWorkspace],
    ['in', share.targetWorkspace],
  ] as const
  return sides.map(([direction, workspace]) => ({
    uid: context.ids.uuid(),
    kind: shareKindName,
    workspace,
    parent: '',
    name,
    metadata: { createdBy: by, updatedBy: by },
    spec: { ...share, direction },
  }))
}

export const share = async (context: Context, asked: Asked): Promise<unknown> => {
  const { actor } = asked
  const [resourceType, imageName] = named(asked)
  const image = await imageIn(context, actor.workspace, [resourceType, imageName])
  const source = await needWorkspace(context, actor.workspace)
  const { sourceWorkspace } = image.metadata
  if (sourceWorkspace !== undefined)
    throw fail('invalid_argument', {
      field: 'imageName',
      reason: `"${imageName}" belongs to workspace "${sourceWorkspace}"; only that one shares it`,
    })
  const target = await targetOf(context, asked, source)
  const before = (await sharesOf(context, asked)).find(one => shareOf(one).targetWorkspace === target.name)
  const isOver = before && (shareOf(before).expiresAt ?? Infinity) <= context.clock.now()
  if (before && !isOver) throw fail('already_exists', { kind: 'share with', name: target.name })
  if (before) {
    const other = await twin(context, before)
    await context.transition.write([before, other].filter(one => one !== undefined).map(remove => ({ remove })))
  }
  const isOurs = target.account === source.account
  const made = {
    resourceType,
    imageName,
    sourceWorkspace: source.name,
    sourceAccountId: source.account,
    targetWorkspace: target.name,
    targetAccountId: target.account,
    sharedBy: actor.name,
    ...(isOurs ? {} : { expiresAt: context.clock.now() + pendingMs }),
  }
  const [clash] = isOurs ? await clashesOf(context, { ...made, direction: 'out' }) : []
  if (clash !== undefined) throw fail('already_exists', { kind: `image of workspace ${target.name}`, name: clash })
  const drafts = records(context, actor, made)
  const { resources } = await context.transition.write(drafts.map(create => ({ create, message: 'shared' })))
  if (isOurs) return image
  return json(await pending(context, resources[0] as Resource), { status: 202 })
}

export const unshare = async (context: Context, asked: Asked): Promise<unknown> => {
  const target = asked.params['targetWorkspace'] as string
  const image = await imageIn(context, asked.actor.workspace, named(asked))
  const found = (await sharesOf(context, asked)).find(one => shareOf(one).targetWorkspace === target)
  if (!found) throw fail('not_found', { kind: 'share with', name: target })
  const other = await twin(context, found)
  await context.transition.write([{ remove: found }, ...(other ? [{ remove: other }] : [])])
  return image
}

export const listTargets = async (context: Context, asked: Asked): Promise<unknown> => {
  await imageIn(context, asked.actor.workspace, named(asked))
  const now = context.clock.now()
  const live = (await sharesOf(context, asked)).filter(one => (shareOf(one).expiresAt ?? Infinity) > now)
  return Promise.all(
    live.map(async one => {
      const { targetWorkspace, targetAccountId, expiresAt } = shareOf(one)
      const target = await context.store.tenants.workspace(targetWorkspace)
      return {
        workspace: targetWorkspace,
        workspaceDisplayName: target?.displayName ?? '',
        accountId: targetAccountId,
        status: expiresAt === undefined ? 'active' : 'pending',
        ...(expiresAt === undefined ? {} : { pendingShareId: one.name }),
      }
    }),
  )
}
