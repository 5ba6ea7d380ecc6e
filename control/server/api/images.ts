/** Images that sandboxes can be made from: those of this host, the same for every workspace, what the workspace has pulled or built, and what it is given. */
import { fail } from '../../../shared/errors.ts'
import { handle, type Bound, type Context } from '../../../shared/route.ts'
import type { Builds } from '../../core/builds/builds.ts'
import type { ImageUpkeep } from '../../core/images/upkeep/upkeep.ts'
import { splitReference as split } from '../../core/images/tags.ts'
import { imageNamed, listed, type ListedImage, type ListedImages } from '../../core/kinds/listed-images.ts'
import * as declared from './image-declarations.ts'
import { makeImage, type ImageMaking } from './image-making.ts'
import { progressRoute } from './image-progress.ts'
import { factsOf } from './surface.ts'

export interface ImageRoutesDeps extends ImageMaking {
  readonly images: ListedImages & ImageMaking['images']
  readonly upkeep: ImageUpkeep
  readonly builds?: Pick<Builds, 'image' | 'images' | 'forget' | 'url'> | undefined
}

interface Address {
  readonly resourceType: string
  readonly imageName: string
}

const found = async (deps: ImageRoutesDeps, { resourceType, imageName }: Address, workspace: string) => {
  const image = await imageNamed(deps, workspace, [resourceType, imageName])
  if (!image) throw fail('not_found', { kind: 'image', name: imageName })
  return image
}

const refused = (reason: string) => fail('invalid_argument', { field: 'imageName', reason })

const whose = ({ metadata: { sourceWorkspace: source } }: ListedImage): string =>
  source === undefined
    ? "those of the host are its operator's to remove"
    : `workspace "${source}" shares it, and ends the share`

/** Removes the tags of an image that the workspace has built; undefined when it is none. */
const removeBuilt = async (
  deps: ImageRoutesDeps,
  { tagName }: { tagName?: string },
  of: { image: ListedImage; workspace: string },
) => {
  const { images, upkeep, builds } = deps
  const { name, resourceType } = of.image.metadata
  const built = (await images.built.list(of.workspace)).filter(({ reference }) => {
    const [full, tag] = split(reference)
    return full === `${resourceType}/${name}` && (tagName === undefined || tag === tagName)
  })
  const isLost = tagName === undefined && of.image.spec.tags.length === 0
  if (built.length === 0 && !isLost) return undefined
  await upkeep.removeBuilt(of.workspace, built)
  if (tagName === undefined) await builds?.forget(of.workspace, { resourceType, name })
  return of.image
}

/** Removes what the workspace has pulled under that name, of one tag or of all; answers the image as it was. */
const remove = async (deps: ImageRoutesDeps, address: Address & { tagName?: string }, context: Context) => {
  const { name: workspace } = factsOf(context).workspace
  const image = await found(deps, address, workspace)
  const { imageName, tagName } = address
  const own = await removeBuilt(deps, address, { image, workspace })
  if (own) return own
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

export const imageRoutes = (deps: ImageRoutesDeps): Bound[] => [
  handle(declared.listImages, (_input, context) => listed(deps, factsOf(context).workspace.name)),
  handle(declared.createImage, ({ body, query }, context) =>
    makeImage(deps, body, query['skip-build'] ?? false, context),
  ),
  handle(declared.deleteImages, async (_input, context) => {
    const deleted = await deps.upkeep.removeUnused(factsOf(context).workspace.name)
    return { deleted, message: deleted === 1 ? '1 unused image deleted' : `${deleted} unused images deleted` }
  }),
  handle(declared.getImage, ({ params }, context) => found(deps, params, factsOf(context).workspace.name)),
  handle(declared.deleteImage, ({ params }, context) => remove(deps, params, context)),
  handle(declared.deleteTag, ({ params }, context) => remove(deps, params, context)),
  progressRoute(deps.images.pulling),
]
