/** Images that sandboxes can be made from: those of this host, the same for every workspace, what the workspace has pulled, and what it is given. */
import { fail } from '../../../shared/errors.ts'
import { handle, type Bound, type Context } from '../../../shared/route.ts'
import type { ImageUpkeep } from '../../core/images/upkeep/upkeep.ts'
import { splitReference as split } from '../../core/images/tags.ts'
import { imageNamed, listed, type ListedImage, type ListedImages } from '../../core/kinds/listed-images.ts'
import * as declared from './image-declarations.ts'
import { progressRoute } from './image-progress.ts'
import { factsOf } from './surface.ts'

export interface ImageRoutesDeps {
  readonly images: ListedImages
  readonly upkeep: ImageUpkeep
}

interface Address {
  readonly resourceType: string
  readonly imageName: string
}

const found = async (deps: ImageRoutesDeps, { resourceType, imageName }: Address, workspace: string) => {
  const image = await imageNamed(deps.images, workspace, [resourceType, imageName])
  if (!image) throw fail('not_found', { kind: 'image', name: imageName })
  return image
}

const refused = (reason: string) => fail('invalid_argument', { field: 'imageName', reason })

const whose = ({ metadata: { sourceWorkspace: source } }: ListedImage): string =>
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
