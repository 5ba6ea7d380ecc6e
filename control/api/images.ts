/** Images that sandboxes of this host can be made from: the same for every workspace. */
import { fail } from '../../shared/errors.ts'
import { handle, route, type Bound } from '../../shared/route.ts'
import { s } from '../../shared/schema.ts'
import type { Access } from '../auth/access.ts'
import type { Images } from '../images/images.ts'
import { sandboxFace } from '../sandbox/kind.ts'
import { tenantQuery } from './paging.ts'
import { factsOf } from './surface.ts'

const imageAnswer = s.object({
  metadata: s.object({
    name: s.string(),
    displayName: s.string(),
    resourceType: s.string(),
    workspace: s.string(),
    status: s.literal('BUILT'),
  }),
  spec: s.object({ tags: s.array(s.object({ name: s.string() })) }),
})

const common = (action: string) => ({
  family: 'images',
  query: s.object(tenantQuery),
  extra: { access: { scope: `images:${action}`, role: 'member' } satisfies Access },
})

export const listImages = route('GET /v0/images', {
  ...common('list'),
  id: 'images.list',
  summary: 'Lists the images that sandboxes can be made from',
  returns: s.array(imageAnswer),
})

export const getImage = route('GET /v0/images/:resourceType/:imageName', {
  ...common('get'),
  id: 'images.get',
  summary: 'Answers one image; the type may be "_"',
  params: s.object({ resourceType: s.string(), imageName: s.string() }),
  returns: imageAnswer,
  errors: ['not_found'],
})

/** `busybox:1.36` is the tag `1.36` of `busybox`; a colon before the last slash belongs to a registry's port. */
const split = (reference: string): readonly [name: string, tag: string] => {
  const cut = reference.indexOf(':', reference.lastIndexOf('/') + 1)
  return cut < 0 ? [reference, 'latest'] : [reference.slice(0, cut), reference.slice(cut + 1)]
}

const listed = async (images: Pick<Images, 'list'>, workspace: string) => {
  const tags = new Map<string, string[]>()
  for (const { name: reference } of await images.list()) {
    const [name, tag] = split(reference)
    tags.set(name, [...(tags.get(name) ?? []), tag])
  }
  return [...tags].map(([name, names]) => ({
    metadata: { name, displayName: name, resourceType: sandboxFace.kind, workspace, status: 'BUILT' as const },
    spec: { tags: names.map(tag => ({ name: tag })) },
  }))
}

/** The image of that name as answered to a workspace; `_` stands for any type. Undefined when there is none. */
export const imageNamed = async (
  images: Pick<Images, 'list'>,
  workspace: string,
  [type, name]: readonly [type: string, name: string],
) => {
  if (!['_', sandboxFace.kind].includes(type)) return undefined
  return (await listed(images, workspace)).find(({ metadata }) => metadata.name === name)
}

export const imageRoutes = ({ images }: { images: Pick<Images, 'list'> }): Bound[] => [
  handle(listImages, (_input, context) => listed(images, factsOf(context).workspace.name)),
  handle(getImage, async ({ params: { resourceType, imageName } }, context) => {
    const found = await imageNamed(images, factsOf(context).workspace.name, [resourceType, imageName])
    if (!found) throw fail('not_found', { kind: 'image', name: imageName })
    return found
  }),
]
