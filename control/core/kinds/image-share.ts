/**
 * An image that one workspace shares with another. Both have a record of it: the source one that is `out`, the target one that
 * is `in`. Within an account a share is active at once; to another account it is pending until an admin of the target
 * accepts it, or its time is over.
 */
import { flag, s, text } from '../../../shared/schema.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import { idNames } from '../records/naming.ts'
import { listTargets, share, unshare } from './image-share-make.ts'
import { accept, decline, listPending, pendingShape } from './image-share-pending.ts'
import { shareKindName } from './image-share-records.ts'

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
    errors: ['expired', 'already_exists', 'changed_meanwhile'],
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
