/** An integration connection: the settings and secrets of one account at a provider. */
import { fail } from '../../../shared/errors.ts'
import { s, text, texts } from '../../../shared/schema.ts'
import { openConnection } from '../models/values.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Found } from '../records/kind.ts'

const admin = { role: 'admin' } as const

/** `path` is below the provider's address; what it answers is passed on as it is. */
const reading = (name: string, path: string, told: { summary: string; scope: string }): Action => ({
  name,
  summary: told.summary,
  method: 'GET',
  path,
  on: 'record',
  access: { scope: told.scope, role: 'member' },
  returns: s.unknown(),
  errors: ['invalid_argument', 'provider_failed', 'unavailable'],
  async run({ providers, sealer }, { found, params }) {
    const { name, spec } = (found as Found).record
    const { config, secret, sandbox } = openConnection({ spec }, sealer)
    const asked = path.replace(/:(\w+)/, (_, param: string) => params[param] ?? '')
    const integration = String(spec['integration'])
    return (await providers.read({ name, integration, config, secret, sandbox }, `/${asked}`)) ?? null
  },
})

const reads = [
  reading('endpointConfigurations', 'endpointConfigurations', {
    summary: 'Asks the provider of a connection for its endpoints',
    scope: 'integrations:list',
  }),
  reading('models', 'models', {
    summary: 'Asks the provider of a connection for its models',
    scope: 'integrations:list',
  }),
  reading('model', 'models/:modelId', {
    summary: 'Asks the provider of a connection for one of its models',
    scope: 'integrations:get',
  }),
]

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
  actions: reads,
  example: {
    create: { metadata: { name: 'openai' }, spec: { integration: 'openai', secret: { apiKey: 'sk-1' } } },
    update: { spec: { secret: { apiKey: '***', organization: 'o-1' } } },
  },
  check(given) {
    if (!given['integration']) throw fail('invalid_argument', { field: 'spec.integration', reason: 'is missing' })
  },
})
