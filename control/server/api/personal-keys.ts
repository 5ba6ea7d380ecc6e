/** Keys of persons: `/v0/api_keys`. */
import { handle, reply, type Bound } from '../../../shared/route.ts'
import type { PersonalKey, PersonalKeys } from '../../core/access/personal-keys.ts'
import { createPersonalKey, listPersonalKeys, removePersonalKey } from './personal-key-declarations.ts'
import { factsOf } from './surface.ts'

const timeText = (time: number): string => new Date(time).toISOString()

const present = (key: PersonalKey) => {
  const { id, person, expiresAt, scopes, role, workspace, defaultWorkspace, lastUsedAt } = key
  const { sub, label, expiresIn } = person
  const createdAt = timeText(key.createdAt)
  return {
    id,
    name: label,
    ...(expiresIn ? { expires_in: expiresIn } : {}),
    ...(expiresAt === null ? {} : { expiresAt: timeText(expiresAt) }),
    ...(scopes ? { scopes: [...scopes] } : {}),
    role,
    ...(workspace ? { workspace } : {}),
    ...(defaultWorkspace ? { defaultWorkspace } : {}),
    sub,
    sub_type: 'user' as const,
    createdAt,
    updatedAt: createdAt,
    createdBy: sub,
    updatedBy: sub,
    ...(lastUsedAt ? { lastUsedAt: timeText(lastUsedAt) } : {}),
  }
}

export const personalKeyRoutes = ({ keys }: { readonly keys: PersonalKeys }): Bound[] => [
  handle(listPersonalKeys, async (_input, context) => (await keys.list(factsOf(context).key)).map(present)),
  handle(createPersonalKey, async ({ body }, context) => {
    const { key, secret } = await keys.create(factsOf(context).key, body, factsOf(context).by)
    return { ...present(key), apiKey: secret }
  }),
  handle(removePersonalKey, async ({ params }, context) => {
    await keys.revoke(factsOf(context).key, params.apiKeyId, factsOf(context).by)
    return reply(200, { 'content-length': '0' })
  }),
]
