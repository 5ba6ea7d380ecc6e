/** A volume template: what a volume may begin with, in versions that are uploaded as tars. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { onNewest } from '../transitions/transition.ts'
import { attempts, find, pokeAll, whole } from '../records/context.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Found } from '../records/kind.ts'
import { templateState, versionOf } from '../storage/volumes/versions.ts'

const removeVersion: Action = {
  name: 'removeVersion',
  summary: 'Deletes a version; the last one stays',
  method: 'DELETE',
  path: 'versions/:versionName',
  on: 'record',
  access: { scope: 'volumeTemplates:delete', role: 'member' },
  returns: s.object({ message: s.string(), template: s.looseObject({}) }),
  errors: ['invalid_argument'],
  async run(context, { actor, params, found }) {
    const name = params['versionName'] ?? ''
    const written = await onNewest(async () => {
      const { record } = await find(context, actor, (found as Found).record.name, {})
      const state = templateState(record)
      const version = versionOf(state, name)
      if (!version) throw fail('not_found', { kind: 'version', name })
      if (state.versions.length === 1)
        throw fail('invalid_argument', { field: 'versionName', reason: 'is the last version; delete the template' })
      const template = { ...state, versions: state.versions.filter(one => one !== version) }
      return context.transition.write([{ record, change: { internal: { ...record.internal, template } } }])
    }, attempts)
    pokeAll(context, written)
    const [record] = written.resources
    if (!record) throw fail('not_found', { kind: 'version', name })
    return { message: `Version ${name} deleted`, template: await whole(context, { record, instances: [] }) }
  },
}

const version = s.looseObject({
  name: s.string(),
  templateName: s.string(),
  versionId: s.string(),
  workspace: s.string(),
  contentSize: s.int(),
  status: s.enum(['CREATED', 'READY', 'FAILED']),
})

const state = s.looseObject({
  status: s.enum(['created', 'ready', 'error']),
  versionCount: s.int(),
  latestVersion: s.optional(s.string()),
  lastVersionUploadedAt: s.optional(s.string()),
})

const presented = ({ record }: Found): Record<string, unknown> => {
  const { versions, failed } = templateState(record)
  const last = versions.at(-1)
  const { name: templateName, workspace } = record
  return {
    state: {
      status: last ? 'ready' : failed ? 'error' : 'created',
      versionCount: versions.length,
      ...(last ? { latestVersion: last.name, lastVersionUploadedAt: last.uploadedAt } : {}),
    },
    versions: versions.map(({ name, id, contentSize }) => ({
      name,
      templateName,
      workspace,
      versionId: id,
      contentSize,
      status: 'READY',
    })),
  }
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
  answers: { more: { state, versions: s.array(version) } },
  actions: [removeVersion],
  present: presented,
  example: {
    create: { metadata: { name: 'dataset' }, spec: { defaultSize: 2048, description: 'what we train on' } },
    update: { spec: { defaultSize: 4096 } },
  },
})
