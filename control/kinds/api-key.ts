/** An API key of a service account: told once, stored as a hash, of no use from the moment it is deleted or expires. */
import { durationMs } from '../../shared/durations.ts'
import { fail } from '../../shared/errors.ts'
import { s, text } from '../../shared/schema.ts'
import { hashKey } from '../auth/keys.ts'
import { defineKind } from '../resources/define-kind.ts'
import { idNames } from '../resources/naming.ts'
import type { Presented } from '../resources/present.ts'
import type { Wire } from '../resources/wire.ts'
import type { Resource } from '../store/store.ts'
import { serviceAccountKind } from './service-account.ts'

const tenYearsMs = 3653 * 86_400_000

const answer = s.object({
  id: s.string(),
  name: s.optional(s.string()),
  expires_in: s.optional(s.string()),
  scopes: s.optional(s.array(s.string())),
  sub: s.string(),
  sub_type: s.literal('service_account'),
  createdAt: s.string(),
  updatedAt: s.string(),
  createdBy: s.string(),
  updatedBy: s.string(),
})

interface Body {
  readonly name?: string | null
  readonly expires_in?: string | null
  readonly scopes?: readonly string[] | null
}

const render = ({ metadata }: Presented, { name: id, parent, spec }: Resource) => {
  const { createdAt, updatedAt, createdBy, updatedBy, displayName } = metadata
  return {
    id,
    ...(displayName ? { name: displayName } : {}),
    ...(spec['expires_in'] ? { expires_in: spec['expires_in'] } : {}),
    ...(spec['scopes'] ? { scopes: spec['scopes'] } : {}),
    sub: parent,
    sub_type: 'service_account',
    createdAt,
    updatedAt,
    createdBy,
    updatedBy,
  }
}

const body = s.object({
  name: s.nullish(text(63)),
  expires_in: s.nullish(text(16)),
  scopes: s.nullish(s.array(text(64)).check(s.maxLength(200))),
})

const wire: Wire = {
  create: body,
  update: body,
  read: ({ name, expires_in, scopes }: Body) => ({
    metadata: name ? { displayName: name } : {},
    spec: { ...(expires_in ? { expires_in } : {}), ...(scopes ? { scopes } : {}) },
  }),
  answer,
  render,
  created: { shape: s.extend(answer, { apiKey: s.string() }), render },
}

/** Epoch ms, or null for a key that does not expire. */
const expiryFrom = (expiresIn: unknown, now: number): number | null => {
  if (typeof expiresIn !== 'string') return null
  const ms = durationMs(expiresIn, 'expires_in')
  if (ms === 0 || ms > tenYearsMs)
    throw fail('invalid_argument', { field: 'expires_in', reason: 'must be more than nothing and at most ten years' })
  return now + ms
}

const writing = { scope: 'apiKey:write', role: 'admin' } as const

export const apiKeyKind = defineKind({
  kind: 'apiKey',
  plural: 'apikeys',
  path: 'api_keys',
  param: 'apiKeyId',
  parent: serviceAccountKind,
  scope: 'apiKey',
  access: { create: writing, delete: writing },
  verbs: ['list', 'create', 'delete'],
  names: idNames,
  spec: s.object({}),
  wire,
  removed: { status: 200 },
  example: { create: { name: 'laptop', expires_in: '30d' } },
  check(spec, _previous, { now, scopes }) {
    expiryFrom(spec['expires_in'], now)
    const wanted = spec['scopes'] as readonly string[] | undefined
    // Nobody makes a key that may do more than the one it is made with.
    const beyond = scopes && (wanted ? wanted.find(scope => !scopes.includes(scope)) : 'every scope')
    if (beyond) throw fail('forbidden', { reason: `a key with ${beyond} cannot be made with this one` })
  },
  issue({ spec }, { ids, now, parents }) {
    const [account] = parents
    const apiKey = `hutch_${ids.secret(32)}`
    return {
      told: { apiKey },
      credential: {
        hash: hashKey(apiKey),
        name: account?.name ?? '',
        role: account?.spec['role'] === 'admin' ? 'admin' : 'member',
        expiresAt: expiryFrom(spec['expires_in'], now),
        scopes: (spec['scopes'] as string[] | undefined) ?? null,
      },
    }
  },
})
