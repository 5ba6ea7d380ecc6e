import { route } from '../../../shared/route.ts'
import { flag, s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import { tenantQuery } from './paging.ts'

const image = s.object({
  metadata: s.object({
    name: s.string(),
    displayName: s.string(),
    resourceType: s.string(),
    workspace: s.string(),
    status: s.enum(['BUILT', 'BUILDING', 'FAILED']),
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
