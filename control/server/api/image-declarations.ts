import { route } from '../../../shared/route.ts'
import { flag, s, text } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import { tenantQuery } from './paging.ts'
import { bodyLimit } from './surface.ts'

const image = s.object({
  metadata: s.object({
    name: s.string(),
    displayName: s.string(),
    resourceType: s.string(),
    workspace: s.string(),
    status: s.enum(['BUILT', 'UPLOADING', 'BUILDING', 'FAILED']),
    sourceWorkspace: s.optional(s.string()),
    createdAt: s.optional(s.string()),
    updatedAt: s.optional(s.string()),
    events: s.optional(
      s.array(s.object({ time: s.string(), type: s.string(), status: s.string(), message: s.string() })),
    ),
  }),
  spec: s.object({
    /** Bytes, unpacked; of images that a workspace has pulled. */
    size: s.optional(s.int()),
    tags: s.array(
      s.object({
        name: s.string(),
        createdAt: s.optional(s.string()),
        size: s.optional(s.int()),
        digest: s.optional(s.string()),
        labels: s.optional(s.record(s.string(), s.string())),
      }),
    ),
  }),
})

const common = (action: string) => ({
  family: 'images',
  query: s.object(tenantQuery),
  extra: { access: { scope: `images:${action}`, role: 'member' } satisfies Access },
})

const named = { resourceType: s.string(), imageName: s.string() }

export const listImages = route('GET /v0/images', {
  ...common('list'),
  id: 'images.list',
  summary:
    'Lists the images that sandboxes can be made from: those of this host, what the workspace has pulled, and what others share with it',
  returns: s.array(image),
})

const namePattern = /^[a-z0-9]+(?:[-_]+[a-z0-9]+)*$/
const word = (most: number) =>
  text(most).check(s.regex(namePattern, 'must be lowercase letters and digits, with hyphens or underscores in between'))

export const createImage = route('POST /v0/images', {
  ...common('create'),
  id: 'images.create',
  summary: 'Has an image made: of sources that are uploaded afterwards, or of an image of this host or a registry',
  query: s.object({ ...tenantQuery, 'skip-build': flag() }),
  body: s.object({
    name: word(49),
    resourceType: word(40),
    image: s.nullish(text(512)),
    generation: s.nullish(text(16)),
    dockerConfig: s.nullish(s.union([text(65_536), s.record(s.string(), s.unknown())])),
  }),
  bodyLimit,
  returns: s.object({
    name: s.string(),
    resourceType: s.string(),
    image: s.string(),
    message: s.string(),
    build: s.boolean(),
  }),
  errors: ['invalid_argument', 'invalid_body', 'invalid_image', 'image_refused', 'wrong_state', 'changed_meanwhile'],
})

export const deleteImages = route('DELETE /v0/images', {
  ...common('delete'),
  id: 'images.deleteUnused',
  summary: 'Deletes what the workspace has pulled and none of its sandboxes is made of',
  returns: s.object({ deleted: s.int(), message: s.string() }),
})

export const getImage = route('GET /v0/images/:resourceType/:imageName', {
  ...common('get'),
  id: 'images.get',
  summary: 'Answers one image; the type may be "_"',
  params: s.object(named),
  returns: image,
  errors: ['not_found'],
})

export const deleteImage = route('DELETE /v0/images/:resourceType/:imageName', {
  ...common('delete'),
  id: 'images.delete',
  summary:
    'Deletes an image that the workspace has pulled, with all its tags; 400 while a sandbox is made of it or it is shared',
  params: s.object(named),
  returns: image,
  errors: ['invalid_argument', 'not_found'],
})

export const deleteTag = route('DELETE /v0/images/:resourceType/:imageName/tags/:tagName', {
  ...common('delete'),
  id: 'images.deleteTag',
  summary:
    'Deletes one tag of an image that the workspace has pulled; 400 while a sandbox is made of it or it is shared',
  params: s.object({ ...named, tagName: s.string() }),
  returns: image,
  errors: ['invalid_argument', 'not_found'],
})

const amount = s.object({ done: s.int(), total: s.int() })

export const imageProgress = route('GET /v0/images/:resourceType/:imageName/progress', {
  ...common('get'),
  id: 'images.progress',
  summary: 'Answers how far a pull is; with follow=true as server-sent events until it is done or has failed',
  params: s.object(named),
  query: s.object({ ...tenantQuery, tag: s.optional(s.string()), follow: flag() }),
  returns: s.object({
    step: s.enum(['waiting', 'manifest', 'layers', 'unpack', 'done', 'failed']),
    digest: s.optional(s.string()),
    layers: amount,
    /** As stored in the registry. */
    bytes: amount,
    error: s.optional(s.string()),
  }),
  produces: ['text/event-stream'],
  errors: ['not_found'],
})
