/** `POST /images`: an image is made of what is uploaded, or from an image that is there or in a registry. */
import { fail } from '../../../shared/errors.ts'
import { json, type Context } from '../../../shared/route.ts'
import type { Out } from '../../../shared/schema.ts'
import type { Builds } from '../../core/builds/builds.ts'
import { imageBuildKey } from '../../core/builds/image-build.ts'
import type { Images } from '../../core/images/images.ts'
import type { createImage } from './image-declarations.ts'
import { factsOf } from './surface.ts'

export interface ImageMaking {
  readonly images: Pick<Images, 'check'>
  /** What images are built by; none where nothing is. */
  readonly builds?: Pick<Builds, 'image' | 'url'> | undefined
  /** Names of the header that says where to send an upload. */
  readonly uploadHeaders?: readonly string[]
}

/** Has an image made; answers where to send its sources, where it is made of those. */
export const makeImage = async (
  { images, builds, uploadHeaders = [] }: ImageMaking,
  body: Out<typeof createImage.body>,
  skipBuild: boolean,
  context: Context,
) => {
  const { name, resourceType, dockerConfig } = body
  const { actor, workspace } = factsOf(context)
  const image = body.image || undefined
  if (!builds) throw fail('not_available', { what: 'builder of images' })
  if (skipBuild && image === undefined)
    throw fail('invalid_argument', { field: 'image', reason: 'is missing: without a build there has to be an image' })
  if (image !== undefined) await images.check(image, workspace.name)
  const logins =
    typeof dockerConfig === 'object' && dockerConfig ? JSON.stringify(dockerConfig) : (dockerConfig ?? undefined)
  const asked = {
    name,
    resourceType,
    ...(image === undefined ? {} : { image }),
    ...(logins ? { dockerConfig: logins } : {}),
  }
  const slot = await builds.image(actor, asked)
  const reference = `${resourceType}/${name}:latest`
  const message = slot ? 'send the sources to the address in the header' : `made from ${image}`
  const answer = { name, resourceType, image: reference, message, build: slot !== undefined }
  if (!slot) return answer
  const url = builds.url(imageBuildKey(workspace.name, { resourceType, name }), slot)
  return json(answer, { headers: Object.fromEntries(uploadHeaders.map(header => [header, url])) }) as never
}
