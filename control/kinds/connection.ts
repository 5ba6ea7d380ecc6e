/** An integration connection: the settings and secrets of one account at a provider. */
import { fail } from '../../shared/errors.ts'
import { s, text, texts } from '../../shared/schema.ts'
import { defineKind } from '../resources/define-kind.ts'

const admin = { role: 'admin' } as const

export const connectionKind = defineKind({
  kind: 'integrationConnection',
  plural: 'integrationconnections',
  path: 'integrations/connections',
  param: 'connectionName',
  scope: 'integrations',
  access: { create: admin, update: admin, delete: admin },
  spec: s.object({
    integration: s.nullish(text(63)),
    config: s.nullish(texts(256)),
    secret: s.nullish(texts(256)),
    sandbox: s.nullish(s.boolean()),
  }),
  sealed: [{ at: ['secret'], as: 'texts' }],
  keptWhileReferenced: true,
  example: {
    create: { metadata: { name: 'openai' }, spec: { integration: 'openai', secret: { apiKey: 'sk-1' } } },
    update: { spec: { secret: { apiKey: '***', organization: 'o-1' } } },
  },
  check(given) {
    if (!given['integration']) throw fail('invalid_argument', { field: 'spec.integration', reason: 'is missing' })
  },
})
