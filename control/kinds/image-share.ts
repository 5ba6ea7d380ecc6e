/**
 * An image that one workspace shares with another. Both have a record of it: the source one that is `out`, the target one that
 * is `in`. Within an account a share is active at once; to another account it is pending until an admin of the target
 * accepts it, or its time is over.
 */
import { fail } from '../../shared/errors.ts'
import { json } from '../../shared/route.ts'
import { flag, s, text } from '../../shared/schema.ts'
import type { Draft } from '../reconcile/transition.ts'
import type { Action, Asked } from '../resources/action.ts'
import type { Actor, Context } from '../resources/context.ts'
import { defineKind } from '../resources/define-kind.ts'
import { idNames } from '../resources/naming.ts'
import type { Resource, Workspace } from '../store/store.ts'
import { accept, decline, listPending, pending, pendingShape } from './image-share-pending.ts'
import { imageIn, named, shareKindName, shareOf, sharesOf, twin, type Share } from './image-share-records.ts'

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

const share = async (context: Context, asked: Asked): Promise<unknown> => {
  const { actor } = asked
  const [resourceType, imageName] = named(asked)
  const image = await imageIn(context, actor.workspace, [resourceType, imageName])
  const source = await needWorkspace(context, actor.workspace)
  const target = await targetOf(context, asked, source)
  const before = (await sharesOf(context, asked)).find(one => shareOf(one).targetWorkspace === target.name)
  if (before) throw fail('already_exists', { kind: 'share with', name: target.name })
  const isOurs = target.account === source.account
  const drafts = records(context, actor, {
    resourceType,
    imageName,
    sourceWorkspace: source.name,
    sourceAccountId: source.account,
    targetWorkspace: target.name,
    targetAccountId: target.account,
    sharedBy: actor.name,
    ...(isOurs ? {} : { expiresAt: context.clock.now() + pendingMs }),
  })
  const { resources } = await context.transition.write(drafts.map(create => ({ create, message: 'shared' })))
  if (isOurs) return image
  return json(await pending(context, resources[0] as Resource), { status: 202 })
}

const unshare = async (context: Context, asked: Asked): Promise<unknown> => {
  const target = asked.params['targetWorkspace'] as string
  const image = await imageIn(context, asked.actor.workspace, named(asked))
  const found = (await sharesOf(context, asked)).find(one => shareOf(one).targetWorkspace === target)
  if (!found) throw fail('not_found', { kind: 'share with', name: target })
  const other = await twin(context, found)
  await context.transition.write([{ remove: found }, ...(other ? [{ remove: other }] : [])])
  return image
}

const listTargets = async (context: Context, asked: Asked): Promise<unknown> => {
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

const image = s.looseObject({ metadata: s.looseObject({}), spec: s.looseObject({}) })

const sharing = { scope: 'images:share', role: 'admin' } as const
const one = { on: 'workspace' as const, path: 'images/:resourceType/:imageName/share' }

const actions: readonly Action[] = [
  {
    ...one,
    name: 'shares',
    summary: 'Lists the workspaces that an image is shared with',
    method: 'GET',
    access: { scope: 'images:get', role: 'member' },
    returns: s.array(
      s.object({
        workspace: s.string(),
        workspaceDisplayName: s.string(),
        accountId: s.string(),
        status: s.enum(['active', 'pending']),
        pendingShareId: s.optional(s.string()),
      }),
    ),
    run: listTargets,
  },
  {
    ...one,
    name: 'share',
    summary: 'Shares an image with a workspace; one of another account has to accept it',
    method: 'POST',
    access: sharing,
    body: s.object({ targetWorkspace: text(256), targetAccountId: s.nullish(text(256)) }),
    returns: s.union([image, pendingShape]),
    statuses: { 202: 'The target has to accept it' },
    errors: ['already_exists'],
    run: share,
  },
  {
    ...one,
    name: 'unshare',
    path: `${one.path}/:targetWorkspace`,
    summary: 'Ends a share of an image',
    method: 'DELETE',
    access: sharing,
    returns: image,
    run: unshare,
  },
  {
    name: 'pending',
    summary: 'Lists shares that wait to be accepted: by this workspace, or by others (direction=outgoing)',
    method: 'GET',
    path: 'pending-image-shares',
    on: 'workspace',
    access: sharing,
    query: { direction: s.optional(s.enum(['incoming', 'outgoing'])) },
    returns: s.array(pendingShape),
    run: listPending,
  },
  {
    name: 'accept',
    summary: 'Accepts a share from another account',
    method: 'POST',
    path: 'pending-image-shares/:pendingShareId/accept',
    on: 'workspace',
    access: sharing,
    query: { force: flag() },
    returns: image,
    errors: ['expired', 'changed_meanwhile'],
    run: accept,
  },
  {
    name: 'decline',
    summary: 'Declines a share from another account',
    method: 'POST',
    path: 'pending-image-shares/:pendingShareId/decline',
    on: 'workspace',
    access: sharing,
    returns: s.unknown(),
    statuses: { 204: 'Declined' },
    errors: ['expired', 'changed_meanwhile'],
    run: decline,
  },
  {
    name: 'build',
    summary: 'Not available on this host: images are built with `hutch image` by its operator',
    method: 'POST',
    path: 'images',
    on: 'workspace',
    access: { scope: 'images:create', role: 'member' },
    body: s.looseObject({ name: text(256), resourceType: text(63), image: s.nullish(text(512)) }),
    returns: s.looseObject({}),
    errors: ['not_available'],
    run() {
      throw fail('not_available', { what: 'builds of images' })
    },
  },
]

export const imageShareKind = defineKind({
  kind: shareKindName,
  plural: 'imageshares',
  scope: 'images',
  verbs: [],
  names: idNames,
  spec: s.object({}),
  actions,
})
