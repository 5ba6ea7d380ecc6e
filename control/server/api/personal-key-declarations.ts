/** The endpoints of a person's own keys as declared; `personal-keys.ts` answers them. */
import { route } from '../../../shared/route.ts'
import { s, text } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import { keyTerms } from '../../core/access/key-terms.ts'
import { bodyLimit } from './surface.ts'

const role = s.enum(['member', 'admin'])

const answer = s.object({
  id: s.string(),
  name: s.string(),
  expires_in: s.optional(s.string()),
  /** Absent for a key that does not expire. */
  expiresAt: s.optional(s.string()),
  /** Absent for a key with every scope. */
  scopes: s.optional(s.array(s.string())),
  role,
  /** The one workspace it reaches; absent for one that reaches all of the account. */
  workspace: s.optional(s.string()),
  /** What it means where no workspace is named. */
  defaultWorkspace: s.optional(s.string()),
  sub: s.string(),
  sub_type: s.literal('user'),
  createdAt: s.string(),
  updatedAt: s.string(),
  createdBy: s.string(),
  updatedBy: s.string(),
  /** To the minute after a crash of the server; absent for a key that was never used. */
  lastUsedAt: s.optional(s.string()),
})

const common = (action: string) => {
  const access: Access = { scope: `apiKey:${action}`, role: 'member' }
  return { family: 'personalkeys', extra: { tenant: 'none', access } } as const
}

export const listPersonalKeys = route('GET /v0/api_keys', {
  ...common('list'),
  id: 'personalkeys.list',
  summary: 'Lists the keys of the caller that may do no more than the one it calls with',
  returns: s.array(answer),
  errors: ['forbidden'],
})

export const createPersonalKey = route('POST /v0/api_keys', {
  ...common('write'),
  id: 'personalkeys.create',
  summary:
    'Makes a key of the caller, which may do no more than the one it calls with; the key itself is answered here alone',
  body: s.object({
    ...keyTerms,
    role: s.nullish(role),
    workspace: s.nullish(text(256)),
    defaultWorkspace: s.nullish(text(256)),
  }),
  bodyLimit,
  returns: s.extend(answer, { apiKey: s.string() }),
  errors: ['invalid_argument', 'invalid_body', 'forbidden'],
})

export const removePersonalKey = route('DELETE /v0/api_keys/:apiKeyId', {
  ...common('write'),
  id: 'personalkeys.delete',
  summary: 'Revokes a key of the caller: it is refused from now on',
  params: s.object({ apiKeyId: s.string() }),
  statuses: { 200: 'Revoked; there is no body' },
  errors: ['not_found', 'forbidden', 'wrong_state'],
})
