/**
 * A token of a private preview. Names may repeat, so a record is known by the hash of its token: that finds it in one look,
 * and the token itself is kept encrypted for the listings that show it.
 */
import { s, text } from '../../../shared/schema.ts'
import { hashKey } from '../access/keys.ts'
import { defineKind } from '../records/define-kind.ts'
import { innerMetadata } from '../records/metadata.ts'
import { checkName } from '../records/naming.ts'
import type { Presented } from '../records/present.ts'
import type { Resource } from '../store/store.ts'
import { previewKind } from './preview.ts'
import { instant } from './shapes.ts'

const body = s.object({
  metadata: s.nullish(s.object({ name: s.nullish(text(256)) })),
  spec: s.nullish(s.object({ expiresAt: s.nullish(instant) })),
})

/** One that cannot be read is called by what it is stored as. */
const labelOf = ({ name, spec }: Resource): string => (spec['label'] as string | undefined) ?? name

const { fixed } = previewKind.metadata

export const previewTokenKind = defineKind({
  kind: 'previewToken',
  plural: 'previewtokens',
  path: 'tokens',
  param: 'tokenName',
  scope: 'sandboxes',
  parent: previewKind,
  access: { list: { scope: 'sandboxes:get' }, create: { scope: 'sandboxes:update' } },
  verbs: ['list', 'create', 'delete'],
  metadata: innerMetadata({ takes: [], shows: [], outer: ['resourceName', 'previewName'], fixed }),
  names: { check: checkName, stored: hashKey },
  alias: labelOf,
  spec: s.object({}),
  wire: {
    create: body,
    update: body,
    read: (given: (typeof body)['_zod']['output']) => given,
    answer: s.object({
      metadata: s.object({
        name: s.string(),
        previewName: s.string(),
        resourceName: s.string(),
        resourceType: s.string(),
        workspace: s.string(),
      }),
      spec: s.object({ token: s.string(), expiresAt: s.optional(s.string()), expired: s.boolean() }),
    }),
    render: ({ metadata, spec }: Presented, record) => ({ metadata: { ...metadata, name: labelOf(record) }, spec }),
  },
  issue({ name, spec: given }, { ids, sealer }) {
    const token = ids.secret(24)
    return { name: hashKey(token), spec: { ...given, label: name, sealedToken: sealer.seal(token) } }
  },
  presentSpec({ spec: { expiresAt, sealedToken } }, { now, open }) {
    return {
      token: sealedToken === undefined ? '' : open(sealedToken as string),
      ...(expiresAt ? { expiresAt } : {}),
      expired: typeof expiresAt === 'string' && expiresAt !== '' && Date.parse(expiresAt) <= now,
    }
  },
  removed: {
    status: 200,
    body: { shape: s.object({ message: s.string() }), of: record => ({ message: `token ${labelOf(record)} deleted` }) },
  },
  example: { create: { metadata: { name: 'guest' }, spec: { expiresAt: '2027-01-01T00:00:00Z' } } },
})
