/**
 * What is recorded of images that workspaces share. Both have a record of it: the source one that is `out`, the target one that
 * is `in`. Within an account a share is active at once; to another account it is pending until an admin of the target
 * accepts it, or its time is over.
 */
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { ImageShares } from '../images/shared.ts'
import type { Asked } from '../records/action.ts'
import type { Context } from '../records/context.ts'
import type { Resource, Store } from '../store/store.ts'

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
  { store }: { readonly store: Pick<Store, 'resources'> },
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

/** What of it the store of images asks. */
export const imageShares = ({ store, clock }: { store: Pick<Store, 'resources'>; clock: Clock }): ImageShares => ({
  async given(workspace) {
    const active = (await shares({ store }, workspace, 'in')).map(shareOf).filter(one => one.expiresAt === undefined)
    return active.map(({ imageName, sourceWorkspace: source }) => ({ imageName, source }))
  },
  async offered(workspace) {
    const live = (await shares({ store }, workspace, 'out'))
      .map(shareOf)
      .filter(({ expiresAt }) => (expiresAt ?? Infinity) > clock.now())
    return new Set(live.map(({ imageName }) => imageName))
  },
})

export const imageIn = async (context: Context, workspace: string, [type, name]: readonly [string, string]) => {
  const image = await context.sharable.named(workspace, [type, name])
  if (!image) throw fail('not_found', { kind: 'image', name })
  return image
}

/**
 * References that both have pulled themselves: what the share opens would stand beside what the target has under the same name.
 */
export const clashesOf = async ({ sharable }: Context, { imageName, sourceWorkspace, targetWorkspace }: Share) => {
  const theirs = new Set(await sharable.pulled(targetWorkspace, imageName))
  return (await sharable.pulled(sourceWorkspace, imageName)).filter(reference => theirs.has(reference))
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
