/** A volume template: what a volume may begin with. It has no versions while this host takes no uploads. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'

const removeVersion: Action = {
  name: 'removeVersion',
  summary: 'Deletes a version; there are none while this host takes no uploads',
  method: 'DELETE',
  path: 'versions/:versionName',
  on: 'record',
  access: { scope: 'volumeTemplates:delete', role: 'member' },
  returns: s.object({ message: s.string(), template: s.looseObject({}) }),
  run(_context, { params }) {
    throw fail('not_found', { kind: 'version', name: params['versionName'] as string })
  },
}

export const volumeTemplateKind = defineKind({
  kind: 'volumeTemplate',
  plural: 'volumetemplates',
  path: 'volume_templates',
  scope: 'volumeTemplates',
  access: { update: { scope: 'volumeTemplates:upsert' } },
  upsert: true,
  uploads: true,
  spec: s.object({
    defaultSize: s.nullish(s.int().check(s.gte(1))),
    description: s.nullish(text(1024)),
  }),
  answers: {
    more: {
      state: s.object({ status: s.enum(['created', 'ready', 'error']), versionCount: s.int() }),
      versions: s.array(s.looseObject({})),
    },
  },
  actions: [removeVersion],
  keptWhileReferenced: true,
  present: () => ({ state: { status: 'created', versionCount: 0 }, versions: [] }),
  example: {
    create: { metadata: { name: 'dataset' }, spec: { defaultSize: 2048, description: 'what we train on' } },
    update: { spec: { defaultSize: 4096 } },
  },
})
