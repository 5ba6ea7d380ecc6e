/** A model: an endpoint of an external provider, reached with the credentials of an integration connection. */
import { s, text } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import { namedConnections, namedPolicies } from './named.ts'
import { lastFive, listRevisions } from './revisions.ts'
import { flavors, nameList } from './shapes.ts'
import { noRunner } from './unserved.ts'

const types = [
  'hf_private_endpoint',
  'hf_public_endpoint',
  'huggingface',
  'public_model',
  'mcp',
  'openai',
  'anthropic',
  'gemini',
  'mistral',
  'deepseek',
  'cohere',
  'cerebras',
  'xai',
  'vertexai',
  'azure-openai-service',
  'azure-ai-inference',
  'azure-marketplace',
  'groq',
] as const

const runtime = s.object({
  type: s.nullish(s.enum(types)),
  model: s.nullish(text(256)),
  organization: s.nullish(text(256)),
  endpointName: s.nullish(text(256)),
  generation: s.nullish(s.enum(['', 'mk2', 'mk3'])),
})

export const modelKind = defineKind({
  ...noRunner,
  kind: 'model',
  plural: 'models',
  scope: 'models',
  spec: s.object({
    enabled: s.nullish(s.boolean()),
    flavors: s.nullish(flavors),
    integrationConnections: nameList,
    policies: nameList,
    runtime: s.nullish(runtime),
    sandbox: s.nullish(s.boolean()),
  }),
  fallback: { enabled: true },
  absent: 'clear',
  paginated: true,
  revisions: lastFive,
  actions: [listRevisions('models:list')],
  // A model has one revision that counts; which one is not told.
  presentSpec({ spec }) {
    const { revision: _, ...shown } = spec
    return shown
  },
  references: spec => [...namedConnections(spec), ...namedPolicies(spec)],
  example: {
    create: {
      metadata: { name: 'gpt' },
      spec: {
        runtime: { type: 'openai', model: 'gpt-5' },
        integrationConnections: ['openai'],
        policies: ['eu-only'],
      },
    },
    update: { spec: { enabled: false, runtime: { type: 'openai', model: 'gpt-5-mini' } } },
  },
})
