/** A volume: a disk that outlives the sandbox it is attached to. Its record; nothing on this host stores it yet. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Spec } from '../records/kind.ts'
import { unserved } from './unserved.ts'
import { volumeTemplateKind } from './volume-template.ts'

/** MB of a volume that names no size. */
const fallbackMb = 1024

const state = s.object({ attachedTo: s.string() })

const pick = (from: unknown, names: readonly string[]): Record<string, unknown> => {
  const members = from as Readonly<Record<string, unknown>>
  return Object.fromEntries(names.filter(name => members[name] !== undefined).map(name => [name, members[name]]))
}

export const volumeKind = defineKind({
  ...unserved('this host stores no volumes yet'),
  kind: 'volume',
  plural: 'volumes',
  scope: 'volumes',
  spec: s.object({
    size: s.nullish(s.int().check(s.gte(1), s.lte(16_777_216))),
    region: s.nullish(text(63)),
    template: s.nullish(
      text(128).check(s.regex(/^([a-z0-9-]+:[A-Za-z0-9._-]+)?$/, 'must be a template as name:version')),
    ),
  }),
  fallback: { size: fallbackMb },
  answers: { more: { state } },
  present: () => ({ state: { attachedTo: '' } }),
  paginated: true,
  byExternalId: true,
  pageItem: ({ metadata, spec, state: at, status }) => ({
    metadata: pick(metadata, ['name', 'displayName', 'externalId', 'createdAt', 'updatedAt']),
    spec: pick(spec, ['region', 'size']),
    state: at,
    status,
  }),
  keptWhileReferenced: true,
  references: ({ template }) =>
    template
      ? [
          {
            field: 'spec.template',
            kind: volumeTemplateKind.kind,
            parent: '',
            name: String(template).split(':')[0] ?? '',
          },
        ]
      : [],
  check(spec, previous) {
    const refuse = (field: string, reason: string) => fail('invalid_argument', { field: `spec.${field}`, reason })
    if (!previous) return
    const before: Spec = previous.spec
    if (Number(spec['size']) < Number(before['size'])) throw refuse('size', `cannot shrink from ${before['size']} MB`)
    for (const member of ['region', 'template'])
      if (before[member] && spec[member] !== before[member])
        throw refuse(member, `cannot be changed from "${before[member]}"`)
  },
  example: {
    create: { metadata: { name: 'data', externalId: 'data-1' }, spec: { size: 2048, region: 'local' } },
    update: { metadata: { displayName: 'Data' }, spec: { size: 4096 } },
  },
})
