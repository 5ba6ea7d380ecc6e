/**
 * What is recorded of images that workspaces share. Both have a record of it: the source one that is `out`, the target one that
 * is `in`. Within an account a share is active at once; to another account it is pending until an admin of the target
 * accepts it, or its time is over.
 */
import { fail } from '../../shared/errors.ts'
import type { Asked } from '../resources/action.ts'
import type { Context } from '../resources/context.ts'
import type { Resource } from '../store/store.ts'

/** Shares of one workspace that a listing looks through. */
const most = 1000

export interface Share {
  readonly direction: 'in' | 'out'
  readonly resourceType: string
  readonly imageName: string
  readonly sourceWorkspace: string
  readonly sourceAccountId: string
  readonly targetWorkspace: string
  readonly targetAccountId: string
  readonly sharedBy: string
  /** Epoch ms; absent once it is active. */
  readonly expiresAt?: number
}

export const shareKindName = 'imageShare'

export const shareOf = ({ spec }: Resource): Share => spec as unknown as Share

export const shares = async (
  { store }: Context,
  workspace: string,
  direction: Share['direction'],
): Promise<Resource[]> => {
  const { items } = await store.resources.list({ kind: shareKindName, workspace, sort: 'createdAt:desc', limit: most })
  return items.filter(record => shareOf(record).direction === direction)
}

/** Both records have the same name. */
export const twin = async ({ store }: Context, record: Resource): Promise<Resource | undefined> => {
  const { direction, sourceWorkspace, targetWorkspace } = shareOf(record)
  const workspace = direction === 'in' ? sourceWorkspace : targetWorkspace
  return store.resources.get({ kind: shareKindName, workspace, parent: '', name: record.name })
}

export const imageIn = async (context: Context, workspace: string, [type, name]: readonly [string, string]) => {
  const image = await context.image(workspace, [type, name])
  if (!image) throw fail('not_found', { kind: 'image', name })
  return image
}

export const named = ({ params }: Asked): readonly [string, string] => [
  params['resourceType'] as string,
  params['imageName'] as string,
]

/** Those of one image; `_` stands for any type. */
export const sharesOf = async (context: Context, asked: Asked): Promise<Resource[]> => {
  const [type, name] = named(asked)
  const all = await shares(context, asked.actor.workspace, 'out')
  return all.filter(one => shareOf(one).imageName === name && ['_', shareOf(one).resourceType].includes(type))
}
