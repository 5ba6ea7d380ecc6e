/** Workspaces and who is in them. */
import { refused, step, type Step } from './step.ts'

export const people: readonly Step[] = [
  step('GET /features', { features: { proxy: true } }),
  step('GET /features/{featureKey}', { enabled: true, evaluatedAt: /Z$/, featureKey: 'proxy', variant: String }),
  refused('GET /features/{featureKey}', 404, { at: { featureKey: 'nobody' } }),
  step('POST /workspaces/availability', 'true', { body: { name: 'team' } }),
  step(
    'POST /workspaces',
    { name: 'team', id: String, accountId: 'default', status: 'ready' },
    { body: { name: 'team' } },
  ),
  refused('POST /workspaces', 409, { body: { name: 'team' } }),
  refused('POST /workspaces', 400, { body: { name: 'Not A Name' } }),
  step('POST /workspaces/availability', 'false', { body: { name: 'team' } }),
  step(
    'POST /workspaces/availability',
    { available: false, reason: 'taken' },
    {
      body: { name: 'team' },
      query: '?withReason=true',
    },
  ),
  step('GET /workspaces', [{ name: 'default' }, { name: 'team' }]),
  step(
    'GET /workspaces/{workspaceName}',
    { name: 'team', resourceCounts: { sandboxes: 0, images: Number } },
    {
      query: '?countResources=true',
    },
  ),
  step('PUT /workspaces/{workspaceName}', { displayName: 'Ours' }, { body: { name: 'team', displayName: 'Ours' } }),
  refused('DELETE /workspaces/{workspaceName}/leave', 404),
  step(
    'POST /users',
    { email: 'ada@example.com', role: 'member', workspace: 'default', expiresAt: /Z$/ },
    {
      body: { email: 'ada@example.com' },
    },
  ),
  refused('POST /users', 400, { body: { email: 'ada' } }),
  step('GET /users', [
    { email: 'ada@example.com', accepted: false, expired: false, sub: String, source: 'invitation' },
  ]),
  step('PUT /users/{subOrEmail}', { role: 'admin' }, { body: { role: 'admin' } }),
  refused('PUT /users/{subOrEmail}', 400, { body: { role: 'owner' } }),
  step('DELETE /users/{subOrEmail}', '', { headers: { 'content-length': '0' } }),
  refused('DELETE /users/{subOrEmail}', 404),
  step(
    'POST /service_accounts',
    { client_id: String, client_secret: String, name: 'ci', created_at: /Z$/ },
    {
      body: { name: 'ci', description: 'builds' },
      keep: ['client_id', 'clientId'],
    },
  ),
  refused('POST /service_accounts', 400, { body: {} }),
  step('GET /service_accounts', [{ name: 'ci', description: 'builds', updated_at: /Z$/ }]),
  step(
    'PUT /service_accounts/{clientId}',
    { description: 'more' },
    {
      body: { description: 'more' },
      without: ['client_secret'],
    },
  ),
  step(
    'POST /service_accounts/{clientId}/api_keys',
    { apiKey: String, id: String, name: 'k', sub_type: 'service_account' },
    {
      body: { name: 'k', expires_in: '30d' },
      keep: ['id', 'apiKeyId'],
    },
  ),
  refused('POST /service_accounts/{clientId}/api_keys', 400, { body: { name: 'k', expires_in: '11y' } }),
  step('GET /service_accounts/{clientId}/api_keys', [{ name: 'k', expires_in: '30d' }]),
  step('DELETE /service_accounts/{clientId}/api_keys/{apiKeyId}', '', { headers: { 'content-length': '0' } }),
  step('DELETE /service_accounts/{clientId}', { name: 'ci' }, { without: ['client_secret'] }),
  refused('DELETE /service_accounts/{clientId}', 404),
]
