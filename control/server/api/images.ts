/** Images that sandboxes can be made from: those of this host, the same for every workspace, what the workspace has pulled, and what it is given. */
import { fail } from '../../../shared/errors.ts'
import { handle, type Bound, type Context } from '../../../shared/route.ts'
import type { ImageUpkeep } from '../../core/images/upkeep/upkeep.ts'
import type { Images } from '../../core/images/images.ts'
import type { Pulled } from '../../core/images/pulled.ts'
import type { Pull } from '../../core/images/pull/pulls.ts'
import { splitReference as split } from '../../core/images/tags.ts'
import type { Sharable } from '../../core/records/context.ts'
import { sandboxFace } from '../../core/kinds/sandbox/kind.ts'
import * as declared from './image-declarations.ts'
import { progressRoute } from './image-progress.ts'
import { factsOf } from './surface.ts'

export interface ImageRoutesDeps {
  readonly images: Pick<Images, 'list' | 'byDigest' | 'shared' | 'offered'> & {
    readonly pulling: Pick<Images['pulling'], 'list' | 'underWay' | 'follow' | 'progress'>
  }
  readonly upkeep: ImageUpkeep
}

interface Part {
  readonly reference: string
  readonly status: 'BUILT' | 'BUILDING' | 'FAILED'
  readonly pulled?: Pulled
  readonly labels?: Readonly<Record<string, string>>
  readonly pull?: Pull
  /** Whose it is, where another workspace shares it. */
  readonly source?: string
}

const iso = (at: number): string => new Date(at).toISOString()

const events = (parts: readonly Part[]) =>
  parts.flatMap(({ reference, status, pull }) =>
    pull
      ? [
          {
            time: iso(pull.since),
            type: 'pull',
            status,
            message: pull.error?.message ?? `${reference}: ${pull.progress.step}`,
          },
        ]
      : [],
  )

/** The contract's form of one image, from its tags. */
const imageOf = (name: string, parts: readonly Part[], workspace: string) => {
  const times = parts.flatMap(({ pulled }) => (pulled ? [pulled.pulledAt] : []))
  const sizes = parts.flatMap(({ pulled }) => (pulled ? [pulled.size] : []))
  const status =
    (['BUILT', 'BUILDING', 'FAILED'] as const).find(one => parts.some(part => part.status === one)) ?? 'BUILT'
  const said = events(parts)
  const source = parts.find(part => part.source !== undefined)?.source
  return {
    metadata: {
      name,
      displayName: name,
      resourceType: sandboxFace.kind,
      workspace,
      status,
      ...(source === undefined ? {} : { sourceWorkspace: source }),
      ...(times.length > 0 ? { createdAt: iso(Math.min(...times)), updatedAt: iso(Math.max(...times)) } : {}),
      ...(said.length > 0 ? { events: said } : {}),
    },
    spec: {
      ...(sizes.length > 0 ? { size: sizes.reduce((sum, size) => sum + size, 0) } : {}),
      tags: parts.map(({ reference, pulled, labels }) => ({
        name: split(reference)[1],
        ...(pulled ? { createdAt: iso(pulled.pulledAt), size: pulled.size, digest: `sha256:${pulled.digest}` } : {}),
        ...(labels && Object.keys(labels).length > 0 ? { labels } : {}),
      })),
    },
  }
}

type Listing = Pick<ImageRoutesDeps, 'images'>

const partsOf = async ({ images }: Listing, workspace: string): Promise<Part[]> => {
  const here: Part[] = (await images.list()).map(({ name, labels }) => ({ reference: name, status: 'BUILT', labels }))
  const pulled: Part[] = await Promise.all(
    (await images.pulling.list(workspace)).map(async one => ({
      reference: one.reference,
      status: 'BUILT' as const,
      pulled: one,
      labels: (await images.byDigest(one.digest))?.labels ?? {},
    })),
  )
  const given: Part[] = await Promise.all(
    (await images.shared(workspace)).map(async ({ source, pulled: one }) => ({
      reference: one.reference,
      status: 'BUILT' as const,
      pulled: one,
      labels: (await images.byDigest(one.digest))?.labels ?? {},
      source,
    })),
  )
  const there = new Set([...pulled, ...given].map(({ reference }) => reference))
  const underWay: Part[] = images.pulling
    .underWay(workspace)
    .filter(({ reference }) => !there.has(reference))
    .map(pull => ({ reference: pull.reference, status: pull.error ? 'FAILED' : 'BUILDING', pull }))
  return [...here, ...pulled, ...given, ...underWay]
}

const listed = async (deps: Listing, workspace: string) => {
  const byName = Map.groupBy(await partsOf(deps, workspace), ({ reference }) => split(reference)[0])
  return [...byName].map(([name, parts]) => imageOf(name, parts, workspace))
}

export const countImages = async (images: ImageRoutesDeps['images'], workspace: string): Promise<number> =>
  (await listed({ images }, workspace)).length

interface Address {
  readonly resourceType: string
  readonly imageName: string
}

const isType = (type: string): boolean => ['_', sandboxFace.kind].includes(type)

const found = async (deps: ImageRoutesDeps, { resourceType, imageName }: Address, workspace: string) => {
  const image = await imageNamed(deps.images, workspace, [resourceType, imageName])
  if (!image) throw fail('not_found', { kind: 'image', name: imageName })
  return image
}

/** The image of that name as answered to a workspace; `_` stands for any type. Undefined when there is none. */
const imageNamed = async (
  images: ImageRoutesDeps['images'],
  workspace: string,
  [type, name]: readonly [type: string, name: string],
) => (isType(type) ? (await listed({ images }, workspace)).find(({ metadata }) => metadata.name === name) : undefined)

const refused = (reason: string) => fail('invalid_argument', { field: 'imageName', reason })

const whose = ({ metadata: { sourceWorkspace: source } }: ReturnType<typeof imageOf>): string =>
  source === undefined
    ? "those of the host are its operator's to remove"
    : `workspace "${source}" shares it, and ends the share`

/** Removes what the workspace has pulled under that name, of one tag or of all; answers the image as it was. */
const remove = async (deps: ImageRoutesDeps, address: Address & { tagName?: string }, context: Context) => {
  const { name: workspace } = factsOf(context).workspace
  const image = await found(deps, address, workspace)
  const { imageName, tagName } = address
  const pulled = (await deps.images.pulling.list(workspace)).filter(({ reference }) => {
    const [name, tag] = split(reference)
    return name === imageName && (tagName === undefined || tag === tagName)
  })
  const hasTag = image.spec.tags.some(({ name }) => name === tagName)
  if (tagName !== undefined && !hasTag) throw fail('not_found', { kind: 'tag', name: `${imageName}:${tagName}` })
  if (pulled.length === 0)
    throw refused(`"${imageName}" is not an image that this workspace has pulled: ${whose(image)}`)
  if ((await deps.images.offered(workspace)).has(imageName))
    throw refused(`"${imageName}" is shared with other workspaces; end its shares first`)
  await deps.upkeep.remove(workspace, pulled)
  return image
}

/** What shares of images ask of the store. */
export const sharableImages = (images: ImageRoutesDeps['images'], forget: Images['pulling']['remove']): Sharable => ({
  named: (workspace, named) => imageNamed(images, workspace, named),
  async pulled(workspace, imageName) {
    const references = (await images.pulling.list(workspace)).map(({ reference }) => reference)
    return references.filter(reference => split(reference)[0] === imageName)
  },
  forget,
})

export const imageRoutes = (deps: ImageRoutesDeps): Bound[] => [
  handle(declared.listImages, (_input, context) => listed(deps, factsOf(context).workspace.name)),
  handle(declared.deleteImages, async (_input, context) => {
    const deleted = await deps.upkeep.removeUnused(factsOf(context).workspace.name)
    return { deleted, message: deleted === 1 ? '1 unused image deleted' : `${deleted} unused images deleted` }
  }),
  handle(declared.getImage, ({ params }, context) => found(deps, params, factsOf(context).workspace.name)),
  handle(declared.deleteImage, ({ params }, context) => remove(deps, params, context)),
  handle(declared.deleteTag, ({ params }, context) => remove(deps, params, context)),
  progressRoute(deps.images.pulling),
]
