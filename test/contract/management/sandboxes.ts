/** Sandboxes with what hangs on them, volumes, templates of volumes, drives, images. */
import { common, named, old, page, refused, step, type Step } from './step.ts'

const preview = { metadata: { name: 'p', resourceName: 'web', workspace: 'default' }, status: 'DEPLOYED' }
const previewAt = '/sandboxes/{sandboxName}/previews'
const tokensAt = `${previewAt}/{previewName}/tokens`
const schedulesAt = '/sandboxes/{sandboxName}/schedules'
const nightly = { id: 's', type: 'cron', value: '0 4 * * *', input: { command: 'true' } }
const schedule = {
  ...nightly,
  input: { command: 'true', keepAlive: true, timeout: 600 },
  maxExecutions: 100,
  createdAt: /Z$/,
}
const absent = { error: 'not_available', code: 400 }

/** What no host has yet answers that. */
const notAvailable = (operation: string, body: object = {}): Step => step(operation, absent, { status: 400, body })

export const sandboxes: readonly Step[] = [
  step('GET /sandbox/hub', [{ name: String, image: String }]),
  step('GET /mcp/hub', [{ name: String }]),
  ...common('sandboxes', 'sandboxName', 'web', { runtime: { memory: 1024 } }),
  step('POST /sandboxes', { metadata: { name: 'web' } }, { query: '?createIfNotExist=true', body: named('web') }),
  step(
    'POST /sandboxes',
    {
      error: 'SANDBOX_ALREADY_EXISTS',
      code: 409,
      status_code: 409,
      sandbox_name: 'web',
      workspace: 'default',
      timestamp: /Z$/,
      message: String,
    },
    { status: 409, body: named('web'), headers: { 'x-should-retry': 'false' } },
  ),
  step(
    'POST /sandboxes',
    { code: 400, error: String, message: String, status_code: 400 },
    {
      status: 400,
      body: named('y', { runtime: { image: 'nobody/has:it' } }),
    },
  ),
  step(
    'PUT /sandboxes/{sandboxName}',
    { metadata: { externalId: 'ext-1' } },
    {
      body: named('web', {}, { externalId: 'ext-1' }),
    },
  ),
  step('PUT /sandboxes/{sandboxName}', { metadata: { externalId: 'ext-1' } }, { body: named('web') }),
  step('GET /sandboxes', page({ metadata: { externalId: 'ext-1' } }), {
    query: '?externalId=ext-1',
    without: ['data.0.events'],
  }),
  step('GET /sandboxes', [{ metadata: { name: 'web' } }], { version: old, without: ['0.events'] }),
  step('GET /sandboxes/by-external-id/{externalId}', { metadata: { name: 'web' } }),
  refused('GET /sandboxes/by-external-id/{externalId}', 404, { at: { externalId: 'nobody' } }),
  step(
    'POST /sandboxes',
    { metadata: { name: /^[a-z0-9-]+$/, url: /^http.*[^/]$/ }, status: String },
    {
      body: { metadata: { labels: { x: 'y' } }, spec: {} },
      keep: ['metadata.name', 'unnamed'],
    },
  ),
  step('DELETE /sandboxes/{sandboxName}', { status: /^(DELETING|TERMINATED)$/ }, { at: { sandboxName: '{unnamed}' } }),
  // This walk has no driver; e2e/snapshots.test.ts has.
  notAvailable('POST /sandboxes/{sandboxName}/fork', { targetType: 'sandbox', targetName: 'other' }),
  step(`POST ${schedulesAt}`, schedule, { body: nightly }),
  refused(`POST ${schedulesAt}`, 404, { at: { sandboxName: 'nobody' }, body: nightly }),
  refused(`POST ${schedulesAt}`, 400, { body: { ...nightly, id: 't', value: 'now' } }),
  step(`GET ${schedulesAt}`, page(schedule), { query: '?type=cron' }),
  step(`GET ${schedulesAt}`, [schedule], { version: old }),
  step(`GET ${schedulesAt}/{scheduleId}`, schedule),
  step(
    `PUT ${schedulesAt}/{scheduleId}`,
    { id: 's', value: '0 5 * * *' },
    { body: { ...nightly, value: '0 5 * * *' } },
  ),
  refused(`PUT ${schedulesAt}/{scheduleId}`, 404, { at: { scheduleId: 'nobody' }, body: { ...nightly, id: 'nobody' } }),
  step('GET /sandboxes/{sandboxName}/schedule-executions', { data: [], meta: { hasMore: false, total: 0 } }),
  step(`DELETE ${schedulesAt}/{scheduleId}`, { id: 's' }),
  notAvailable('GET /sandboxes/{sandboxName}/snapshots'),
  notAvailable('POST /sandboxes/{sandboxName}/snapshots'),
  notAvailable('DELETE /sandboxes/{sandboxName}/snapshots/{snapshotId}'),
  step(
    `POST ${previewAt}`,
    { ...preview, spec: { port: 3000, url: /^http.*[^/]$/, public: false } },
    {
      body: named('p', { port: 3000 }),
    },
  ),
  refused(`POST ${previewAt}`, 409, { body: named('p', { port: 3000 }) }),
  refused(`POST ${previewAt}`, 400, { body: named('q', { port: 80 }) }),
  refused(`POST ${previewAt}`, 404, { at: { sandboxName: 'nobody' }, body: named('q', { port: 3000 }) }),
  step(`GET ${previewAt}`, [preview]),
  step(`GET ${previewAt}/{previewName}`, preview),
  refused(`GET ${previewAt}/{previewName}`, 404, { at: { previewName: 'nobody' } }),
  step(`PUT ${previewAt}/{previewName}`, preview, { body: named('p', { port: 3000, public: true }) }),
  step(
    `PUT ${previewAt}/{previewName}`,
    { spec: { public: false } },
    {
      body: named('p', { port: 3000, public: false }),
    },
  ),
  step(
    `POST ${tokensAt}`,
    { metadata: { name: 't' }, spec: { token: /^[A-Za-z0-9_-]+$/, expired: false } },
    {
      body: named('t'),
      keep: ['spec.token', 'token'],
    },
  ),
  step(`POST ${tokensAt}`, { metadata: { name: 't' } }, { body: named('t') }),
  step(`GET ${tokensAt}`, [
    { metadata: { name: 't' }, spec: { token: String } },
    { metadata: { name: 't' }, spec: { token: String } },
  ]),
  step(`DELETE ${tokensAt}/{tokenName}`, { message: String }, { at: { tokenName: '{token}' } }),
  step(`DELETE ${tokensAt}/{tokenName}`, { message: String }),
  refused(`DELETE ${tokensAt}/{tokenName}`, 404),
  step(`DELETE ${previewAt}/{previewName}`, { metadata: { name: 'p' } }),
]

export const storage: readonly Step[] = [
  ...common('volumes', 'volumeName', 'v', { size: 1024 }),
  step('POST /volumes', { metadata: { externalId: 'ext-1' } }, { body: named('w', {}, { externalId: 'ext-1' }) }),
  step('GET /volumes/by-external-id/{externalId}', { metadata: { name: 'w' } }),
  step(
    'GET /volumes',
    { data: [{ metadata: { name: 'w' }, spec: { size: Number } }] },
    {
      query: '?externalId=ext-1',
      without: ['data.0.events'],
    },
  ),
  refused('PUT /volumes/{volumeName}', 400, { body: named('v', { size: 512 }) }),
  step('DELETE /volumes/{volumeName}', { metadata: { name: 'v' } }),
  refused('DELETE /volumes/{volumeName}', 404, { at: { volumeName: 'nobody' } }),
  step(
    'PUT /volume_templates/{volumeTemplateName}',
    { metadata: { name: 'tpl' }, state: { status: 'created' } },
    {
      body: named('tpl', { defaultSize: 10 }),
    },
  ),
  refused('POST /volume_templates', 409, { body: named('tpl') }),
  step('POST /volume_templates', { metadata: { name: 'tpl-2' } }, { body: named('tpl-2') }),
  step('GET /volume_templates', [{ metadata: {} }, { metadata: {} }]),
  step('GET /volume_templates/{volumeTemplateName}', { metadata: { name: 'tpl' }, versions: [] }),
  refused('DELETE /volume_templates/{volumeTemplateName}/versions/{versionName}', 404),
  step('DELETE /volume_templates/{volumeTemplateName}', { metadata: { name: 'tpl' } }),
  ...common('drives', 'driveName', 'd', {}),
  step(
    'PUT /drives/{driveName}',
    { metadata: { externalId: 'ext-1' } },
    {
      body: named('d', {}, { externalId: 'ext-1' }),
    },
  ),
  step('GET /drives/by-external-id/{externalId}', { metadata: { name: 'd' } }),
  // No object storage that a token would open.
  refused('POST /drives/{driveName}/access-token', 403),
  refused('POST /drives/{driveName}/access-token', 404, { at: { driveName: 'nobody' } }),
  step('GET /drives/jwks.json', { keys: [] }),
  step('DELETE /drives/{driveName}', { message: String, name: 'd' }, { without: ['metadata'] }),
  refused('DELETE /drives/{driveName}', 404),
  step('GET /images', [{ metadata: { name: 'base' }, spec: { tags: [{ name: 'latest' }] } }]),
  step('POST /images', { name: 'mine', resourceType: 'sandbox' }, { body: { name: 'mine', resourceType: 'sandbox' } }),
  refused('POST /images', 400, { body: {} }),
  step('DELETE /images', { deleted: 0, message: String }),
  step('GET /images/{resourceType}/{imageName}', { metadata: { name: 'base', status: 'BUILT' } }),
  refused('GET /images/{resourceType}/{imageName}', 404, { at: { imageName: 'nobody' } }),
  step(
    'POST /images/{resourceType}/{imageName}/share',
    { metadata: { name: 'base' } },
    {
      body: { targetWorkspace: 'team' },
    },
  ),
  refused('POST /images/{resourceType}/{imageName}/share', 409, { body: { targetWorkspace: 'team' } }),
  refused('POST /images/{resourceType}/{imageName}/share', 404, { body: { targetWorkspace: 'nobody' } }),
  step(
    'POST /images/{resourceType}/{imageName}/share',
    { id: String, imageName: 'base', expiresAt: /Z$/ },
    {
      status: 202,
      body: { targetWorkspace: 'theirs', targetAccountId: 'rival' },
      keep: ['id', 'pendingShareId'],
    },
  ),
  step('GET /images/{resourceType}/{imageName}/share', [
    { workspace: String, accountId: String, status: String },
    { workspace: String, accountId: String, status: String },
  ]),
  step('GET /pending-image-shares', [{ imageName: 'base' }], { query: '?direction=outgoing' }),
  // It is the target's to answer.
  refused('POST /pending-image-shares/{pendingShareId}/accept', 404),
  refused('POST /pending-image-shares/{pendingShareId}/decline', 404),
  step('GET /pending-image-shares', [{ imageName: 'base', hasConflict: false }], { as: 'rival' }),
  refused('POST /pending-image-shares/{pendingShareId}/accept', 403, { as: 'rivalMember' }),
  refused('POST /pending-image-shares/{pendingShareId}/decline', 403, { as: 'rivalMember' }),
  step('POST /pending-image-shares/{pendingShareId}/accept', { metadata: { name: 'base' } }, { as: 'rival' }),
  refused('POST /pending-image-shares/{pendingShareId}/accept', 404, { as: 'rival' }),
  step(
    'DELETE /images/{resourceType}/{imageName}/share/{targetWorkspace}',
    { metadata: { name: 'base' } },
    {
      at: { targetWorkspace: 'theirs' },
    },
  ),
  step(
    'POST /images/{resourceType}/{imageName}/share',
    { id: String },
    {
      status: 202,
      body: { targetWorkspace: 'theirs', targetAccountId: 'rival' },
      keep: ['id', 'pendingShareId'],
    },
  ),
  step('POST /pending-image-shares/{pendingShareId}/decline', '', { status: 204, as: 'rival' }),
  refused('POST /pending-image-shares/{pendingShareId}/decline', 404, { as: 'rival' }),
  step('DELETE /images/{resourceType}/{imageName}/share/{targetWorkspace}', { metadata: { name: 'base' } }),
  refused('DELETE /images/{resourceType}/{imageName}/share/{targetWorkspace}', 404),
  refused('DELETE /images/{resourceType}/{imageName}/tags/{tagName}', 404, { at: { tagName: 'nobody' } }),
  refused('DELETE /images/{resourceType}/{imageName}', 404, { at: { imageName: 'nobody' } }),
]
