/** A service account: somebody who is not a person, in one workspace. Its keys live inside it and go with it. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { hashKey } from '../access/keys.ts'
import { grantHash } from '../access/grants.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Presented } from '../records/present.ts'
import { idNames } from '../records/naming.ts'
import type { Wire } from '../records/wire.ts'
import type { Resource } from '../store/store.ts'

const name = text(63).check(s.minLength(1, 'must not be empty'))
const description = s.nullish(text(1024))
const role = s.nullish(s.enum(['member', 'admin']))

const answer = s.object({
  client_id: s.string(),
  name: s.string(),
  description: s.string(),
  role: s.enum(['member', 'admin']),
  created_at: s.string(),
  updated_at: s.string(),
})

interface Body {
  readonly name?: string | null
  readonly description?: string | null
  readonly role?: string | null
}

const render = ({ metadata }: Presented, { name: id, spec }: Resource) => ({
  client_id: id,
  name: metadata.displayName ?? '',
  description: spec['description'] ?? '',
  role: spec['role'],
  created_at: metadata.createdAt,
  updated_at: metadata.updatedAt,
})

const wire: Wire = {
  create: s.object({ name, description, role }),
  update: s.object({ name: s.nullish(name), description, role }),
  read: (body: Body) => ({
    metadata: body.name ? { displayName: body.name } : {},
    spec: {
      ...(body.description === undefined ? {} : { description: body.description ?? '' }),
      ...(body.role ? { role: body.role } : {}),
    },
  }),
  answer,
  render,
  created: { shape: s.extend(answer, { client_secret: s.string() }), render },
}

const writing = { scope: 'workspaces:update', role: 'admin' } as const

export const serviceAccountKind = defineKind({
  kind: 'serviceAccount',
  plural: 'serviceaccounts',
  path: 'service_accounts',
  param: 'clientId',
  scope: 'workspaces',
  access: { list: { scope: 'workspaces:get' }, create: writing, update: writing, delete: writing },
  verbs: ['list', 'create', 'update', 'delete'],
  names: idNames,
  spec: s.object({}),
  fallback: { role: 'member' },
  wire,
  example: { create: { name: 'ci', description: 'builds' }, update: { description: 'builds and deploys' } },
  // Its keys were made for the role it has.
  check(spec, previous) {
    if (previous && spec['role'] !== previous.spec['role'])
      throw fail('invalid_argument', { field: 'role', reason: `cannot be changed from "${previous.spec['role']}"` })
  },
  issue({ name: clientId, spec }, { ids }) {
    const secret = ids.secret(32)
    return {
      told: { client_secret: secret },
      spec: { secretHash: hashKey(secret) },
      // What its access tokens are good for, as long as it is there.
      credential: {
        hash: grantHash.client(clientId),
        name: clientId,
        role: spec['role'] === 'admin' ? 'admin' : 'member',
        expiresAt: null,
        scopes: null,
      },
    }
  },
})
