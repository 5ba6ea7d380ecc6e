/** What runs, and what it needs: policies, connections, agents, functions, models, jobs, applications. */
import { common, named, old, page, refused, revisions, statuses, step, type Step } from './step.ts'

export const workloads: readonly Step[] = [
  ...common('policies', 'policyName', 'pol', { type: 'location', locations: [{ type: 'continent', name: 'eu' }] }),
  step('GET /policies/{policyName}/usages', { agents: [], functions: [], jobs: [], models: [], sandboxes: [] }),
  step('GET /policies/{policyName}', { usage: { agents: 0, functions: 0, jobs: 0, models: 0, sandboxes: 0 } }),
  step('GET /integrations/{integrationName}', { name: 'openai', endpoints: {} }),
  step('GET /integrations/connections', []),
  step(
    'POST /integrations/connections',
    { metadata: { name: 'c' }, spec: { integration: 'openai', secret: { apiKey: /\*/ } } },
    {
      body: named('c', {
        integration: 'openai',
        config: { baseUrl: 'http://127.0.0.1:1/v1' },
        secret: { apiKey: 'sk-hush' },
      }),
    },
  ),
  refused('POST /integrations/connections', 409, { body: named('c', { integration: 'openai' }) }),
  step('GET /integrations/connections/{connectionName}', {
    metadata: { name: 'c' },
    spec: { secret: { apiKey: /\*/ } },
  }),
  step(
    'PUT /integrations/connections/{connectionName}',
    { spec: { config: { baseUrl: String } } },
    {
      body: named('c', {
        integration: 'openai',
        config: { baseUrl: 'http://127.0.0.1:1/v1' },
        secret: { apiKey: 'sk-hush' },
      }),
    },
  ),
  refused('PUT /integrations/connections/{connectionName}', 404, {
    at: { connectionName: 'nobody' },
    body: named('nobody'),
  }),
  step('GET /integrations/connections/{connectionName}/endpointConfigurations', { '/chat/completions': Object }),
  refused('GET /integrations/connections/{connectionName}/models', 424),
  refused('GET /integrations/connections/{connectionName}/models/{modelId}', 424),
  ...common('agents', 'agentName', 'a', { runtime: { image: 'i:1' }, policies: ['pol'] }),
  ...common('functions', 'functionName', 'f', { runtime: { image: 'i:1' } }),
  ...common('models', 'modelName', 'm', { integrationConnections: ['c'] }),
  refused('POST /models', 400, { body: named('n', { integrationConnections: ['nobody'] }) }),
  ...['agents', 'functions', 'models', 'jobs', 'applications', 'drives', 'volumes', 'sandboxes'].flatMap(statuses),
  revisions('GET /agents/{agentName}/revisions'),
  revisions('GET /functions/{functionName}/revisions'),
  revisions('GET /models/{modelName}/revisions'),
  ...common('jobs', 'jobId', 'j', { runtime: { image: 'i:1', memory: 512 } }),
  revisions('GET /jobs/{jobId}/revisions'),
  step(
    'POST /jobs/{jobId}/executions',
    { executionId: String, id: String, jobId: 'j', workspaceId: 'default', tasks: [{}] },
    {
      body: {},
      keep: ['executionId', 'executionId'],
    },
  ),
  refused('POST /jobs/{jobId}/executions', 429, { body: { allowQueue: false } }),
  refused('POST /jobs/{jobId}/executions', 400, { body: { memory: 1024, allowQueue: false } }),
  step('GET /jobs/{jobId}/executions', page({ status: 'queued' })),
  step('GET /jobs/{jobId}/executions', [{ status: 'queued' }], { version: old, query: '?limit=1&offset=0' }),
  step('GET /jobs/{jobId}/executions/{executionId}', {
    metadata: { job: 'j' },
    spec: {},
    stats: { total: 1 },
    status: 'queued',
  }),
  step('GET /jobs/{jobId}/executions/{executionId}/tasks', page({ status: 'pending' })),
  refused('GET /jobs/{jobId}/executions/{executionId}/tasks', 404, { version: old }),
  step('DELETE /jobs/{jobId}/executions/{executionId}', { status: 'cancelled' }),
  step('DELETE /jobs/{jobId}/executions/{executionId}', { status: 'cancelled' }),
  ...common('applications', 'applicationName', 'site', { image: 'i:1' }),
  step('GET /applications/{applicationName}/revisions', [{ id: String, image: 'i:1', createdAt: /Z$/ }]),
  step(
    'POST /applications/{applicationName}/customdomains',
    { metadata: { name: 'site.example.org' }, spec: { domainType: 'applications', status: 'pending' } },
    {
      body: named('site.example.org'),
    },
  ),
  refused('DELETE /policies/{policyName}', 409),
  refused('DELETE /integrations/connections/{connectionName}', 409),
]
