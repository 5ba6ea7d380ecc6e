/** A drive: files that many sandboxes share. Its record has the rules of who may mount it; a directory of this box without one has none. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { stateTable } from '../transitions/state-table.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Kind, Spec } from '../records/kind.ts'
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

const life = stateTable<'DEPLOYED' | 'FAILED' | 'DELETING', 'delete'>('DEPLOYED', {
  DEPLOYED: { delete: 'DELETING' },
  // Of a host that had no drives.
  FAILED: { delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

const noConsequence = () => undefined

const servedStatus: NonNullable<Kind['statusAt']> = ({ record }) =>
  record.status === 'DELETING' ? record.status : life.initial

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

/** `served`: this host has a directory of drives. */
export const driveKind = ({ served }: { readonly served: boolean }) =>
  defineKind({
    ...unserved('this host has no drives; set HUTCH_DRIVES_DIR'),
    ...(served
      ? {
          life,
          initialStatus: () => life.initial,
          createdMessage: () => 'drive created',
          consequence: noConsequence,
          statusAt: servedStatus,
        }
      : {}),
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

/** For declarations, and its name. */
export const plainDriveKind = driveKind({ served: false })
