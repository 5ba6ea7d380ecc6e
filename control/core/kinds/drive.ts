/** A drive: files that many sandboxes share. Its record; directories of this box are mounted whether or not it has one. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Spec } from '../records/kind.ts'
import { unserved } from './unserved.ts'

const permission = s.object({
  labels: s.nullish(s.record(text(256), text(1024))),
  mode: s.nullish(s.enum(['read', 'read-write'])),
  path: s.nullish(text(4096).check(s.startsWith('/', 'must be an absolute path'))),
})

/** A rule says on which labels it holds; what it leaves out is what is allowed most. */
const completed = (spec: Spec): Spec => {
  const rules = spec['permissions'] as readonly Readonly<Record<string, unknown>>[] | undefined
  return rules
    ? { ...spec, permissions: rules.map(rule => ({ labels: {}, mode: 'read-write', path: '/', ...rule })) }
    : spec
}

const accessToken: Action = {
  name: 'accessToken',
  summary: 'Refused: this host has no object storage that a token would open',
  method: 'POST',
  path: 'access-token',
  on: 'record',
  access: { scope: 'drives:get', role: 'member' },
  returns: s.object({ access_token: s.string(), expires_in: s.number(), token_type: s.string() }),
  run() {
    throw fail('forbidden', { reason: 'this host has no object storage; a drive is mounted instead' })
  },
}

export const driveKind = defineKind({
  ...unserved('this host stores no drives for records yet'),
  kind: 'drive',
  plural: 'drives',
  scope: 'drives',
  access: { update: { scope: 'drives:create' } },
  spec: s.object({
    permissions: s.nullish(s.array(permission).check(s.maxLength(3))),
    region: s.nullish(text(63)),
    size: s.nullish(s.int().check(s.gte(1))),
  }),
  complete: completed,
  answers: { more: { state: s.object({ s3Url: s.optional(s.string()) }) } },
  present: () => ({ state: {} }),
  paginated: true,
  byExternalId: true,
  actions: [accessToken],
  removed: {
    status: 200,
    body: {
      shape: s.object({ message: s.string(), name: s.string() }),
      of: ({ name }) => ({ message: 'Drive deleted successfully', name }),
    },
  },
  example: {
    create: {
      metadata: { name: 'shared' },
      spec: { region: 'local', permissions: [{ labels: { team: 'a' }, mode: 'read' }] },
    },
    update: { spec: { permissions: [] } },
  },
})
