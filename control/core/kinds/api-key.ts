/** An API key of a service account: told once, stored as a hash, of no use from the moment it is deleted or expires. */
import { s } from '../../../shared/schema.ts'
import { expiryFrom, keyTerms, needScopesFor } from '../access/key-terms.ts'
import { hashKey, newKey } from '../access/keys.ts'
import { defineKind } from '../records/define-kind.ts'
import { idNames } from '../records/naming.ts'
import type { Presented } from '../records/present.ts'
import type { Wire } from '../records/wire.ts'
import type { Resource } from '../store/store.ts'
import { serviceAccountKind } from './service-account.ts'

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
  /** Absent for one that never was. */
  lastUsedAt: s.optional(s.string()),
})

interface Body {
  readonly name?: string | null
  readonly expires_in?: string | null
  readonly scopes?: readonly string[] | null
}

const render = ({ metadata, lastUsedAt }: Presented, { name: id, parent, spec }: Resource) => {
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
    ...(lastUsedAt ? { lastUsedAt } : {}),
  }
}

const body = s.object(keyTerms)

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
  showsUse: true,
  spec: s.object({}),
  wire,
  removed: { status: 200 },
  example: { create: { name: 'laptop', expires_in: '30d' } },
  check(spec, _previous, { now, scopes }) {
    expiryFrom(spec['expires_in'], now)
    needScopesFor(scopes, (spec['scopes'] as string[] | undefined) ?? null)
  },
  issue({ spec }, { ids, now, parents }) {
    const [account] = parents
    const apiKey = newKey(ids)
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
