/** Where archives are sent that images are made of, and the logs of what is made of them. */
import type { Readable } from 'node:stream'
import { fail } from '../../../shared/errors.ts'
import { handle, reply, route, type Bound } from '../../../shared/route.ts'
import { flag, s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import type { Builds } from '../../core/builds/builds.ts'
import { imageBuildKind, imageBuildName } from '../../core/builds/image-build.ts'
import type { Kind } from '../../core/records/kind.ts'
import type { Store } from '../../core/store/store.ts'
import { tenantQuery } from './paging.ts'
import { factsOf } from './surface.ts'

export const upload = route('PUT /v0/uploads/:token', {
  id: 'uploads.send',
  summary: 'Takes in a zip of sources, once, at an address that another answer has given; it needs no credential',
  family: 'uploads',
  params: s.object({ token: s.string() }),
  accepts: 'stream',
  open: true,
  statuses: { 200: 'All of it is here; there is no body' },
  errors: ['forbidden', 'expired', 'not_found', 'wrong_state', 'payload_too_large', 'invalid_body'],
})

export const buildLog = route('GET /v0/builds/:resourceType/:name/log', {
  id: 'builds.log',
  summary: 'Answers what the last build of a record or of an image has said; with follow=true until it ends',
  family: 'uploads',
  params: s.object({ resourceType: s.string(), name: s.string() }),
  query: s.object({ ...tenantQuery, follow: flag() }),
  produces: ['text/plain'],
  errors: ['not_found'],
  extra: { access: { scope: 'images:get', role: 'member' } satisfies Access },
})

interface Deps {
  readonly builds: Pick<Builds, 'receive' | 'log'>
  readonly store: Pick<Store, 'resources'>
  readonly kinds: readonly Kind[]
}

const lengthOf = (header: string | string[] | undefined): number | undefined =>
  header === undefined ? undefined : Number(header)

const text = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

export const uploadRoutes = ({ builds, store, kinds }: Deps): Bound[] => {
  /** A record of that name, or else an image that is made by itself. */
  const find = async (workspace: string, type: string, name: string) => {
    const kind = kinds.find(one => one.imageAt && [one.kind, one.plural].includes(type))
    const key = { workspace, parent: '' }
    return (
      (kind && (await store.resources.get({ ...key, kind: kind.kind, name }))) ??
      (await store.resources.get({ ...key, kind: imageBuildKind, name: imageBuildName({ resourceType: type, name }) }))
    )
  }
  return [
    handle(upload, async ({ params }, { request }) => {
      const body = request.body as Readable
      await builds.receive(params.token, body, lengthOf(request.headers['content-length']))
      return reply(200, { 'content-length': '0' }) as never
    }),
    handle(buildLog, async ({ params: { resourceType, name }, query: { follow = false } }, context) => {
      const record = await find(factsOf(context).workspace.name, resourceType, name)
      if (!record) throw fail('not_found', { kind: `build of ${resourceType}`, name })
      return reply(200, text, (out, signal) => builds.log(record.uid, out, { follow, signal })) as never
    }),
  ]
}
