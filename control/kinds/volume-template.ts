/** A volume template: what a volume may begin with. It has no versions while this host takes no uploads. */
import { s, text } from '../../shared/schema.ts'
import { defineKind } from '../resources/define-kind.ts'

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
  present: () => ({ state: { status: 'created', versionCount: 0 }, versions: [] }),
  example: {
    create: { metadata: { name: 'dataset' }, spec: { defaultSize: 2048, description: 'what we train on' } },
    update: { spec: { defaultSize: 4096 } },
  },
})
