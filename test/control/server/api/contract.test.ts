/** Every operation of the contract is served, with the scopes it has there; those that are not available here say so. */
import t from 'tap'
import { accessOf } from '../../../../control/core/access/access.ts'
import { control } from '../../../support/control.ts'
import { operations } from './contract-operations.ts'

/** Paths of what needs storage that this host does not have. */
const notAvailable = /^\/sandboxes\/\{\}\/snapshots(\/|$)/

const shapeOf = (path: string): string => path.replaceAll(/\{[^}]*\}|:\w+/g, '{}')

const versions = ['', '2026-04-16', '2026-04-28'] as const

/** Listings: bare arrays in every version, in pages from the newest on, or what is said. */
const listings: Readonly<Record<string, 'bare' | 'paged' | 'pages only' | 'map'>> = {
  '/agents': 'paged',
  '/applications': 'paged',
  '/drives': 'paged',
  '/functions': 'paged',
  '/jobs': 'paged',
  '/models': 'paged',
  '/policies': 'paged',
  '/sandboxes': 'paged',
  '/volumes': 'paged',
  '/jobs/j/executions': 'paged',
  '/jobs/j/executions/e/tasks': 'pages only',
  '/sandboxes/web/previews': 'bare',
  '/sandboxes/web/previews/p/tokens': 'bare',
  '/agents/a/revisions': 'bare',
  '/applications/a/revisions': 'bare',
  '/customdomains': 'bare',
  '/customdomains/a.example.com/share': 'bare',
  '/images': 'bare',
  '/images/_/base/share': 'bare',
  '/pending-image-shares': 'bare',
  '/integrations/connections': 'bare',
  '/service_accounts': 'bare',
  '/users': 'bare',
  '/templates': 'bare',
  '/volume_templates': 'bare',
  '/vpcs': 'bare',
  '/vpcs/default/egressgateways': 'bare',
  '/egressgateways': 'bare',
  '/egressgateways/usage': 'map',
  '/egressips': 'bare',
  '/workspaces': 'bare',
  '/accounts': 'bare',
  '/locations': 'bare',
  '/sandbox/hub': 'bare',
  '/mcp/hub': 'bare',
  '/publicIps': 'map',
  '/quotas/account/default': 'bare',
}

const formOf = (body: unknown): string => {
  if (Array.isArray(body)) return 'bare'
  return Object.keys(body ?? {}).join() === 'data,meta' ? 'page' : 'map'
}

t.test('every listing has its form in every version', async t => {
  const { call } = await control(t)
  const named = (name: string, spec = {}) => ({ metadata: { name }, spec })
  for (const [path, body] of [
    ['/sandboxes', named('web')],
    ['/sandboxes/web/previews', named('p', { port: 3000 })],
    ['/agents', named('a')],
    ['/applications', named('a')],
    ['/jobs', named('j')],
    ['/customdomains', named('a.example.com')],
  ] as const)
    t.equal((await call('POST', path, body)).status, 200, path)
  const { executionId } = (await call('POST', '/jobs/j/executions', {})).body
  for (const [path, form] of Object.entries(listings))
    for (const version of versions) {
      const at = path.replace('/e/', `/${executionId}/`)
      const { status, body } = await call('GET', at, undefined, { headers: { 'svc-version': version } })
      const newest = version === versions[2]
      const wanted = {
        bare: 'bare',
        map: 'map',
        paged: newest ? 'page' : 'bare',
        'pages only': newest ? 'page' : '404',
      }
      t.equal(status === 200 ? formOf(body) : String(status), wanted[form], `${path} at ${version || 'none'}`)
    }
})

t.test('of a hundred clients that give one name at once, one wins', async t => {
  const { call } = await control(t)
  for (const path of ['/sandboxes', '/volumes', '/policies']) {
    const spec = path === '/policies' ? { type: 'location', locations: [{ name: 'eu' }] } : {}
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => call('POST', path, { metadata: { name: 'one' }, spec })),
    )
    t.equal(answers.filter(({ status }) => status === 200).length, 1, path)
    const others = answers.filter(({ status }) => status === 409)
    t.equal(others.length, 99)
    t.ok(others.every(({ headers }) => headers['x-should-retry'] === 'false'))
  }
})

t.test('every operation', async t => {
  const { api, call } = await control(t)
  t.equal(operations.length, 159)
  await call('POST', '/sandboxes', { metadata: { name: 'web' } })
  for (const { method, path, scopes } of operations) {
    const name = `${method} ${path}`
    const bound = api.bounds.find(
      ({ route }) => route.method === method && shapeOf(route.path) === `/v0${shapeOf(path)}`,
    )
    if (!bound) {
      t.fail(`${name} is not served`)
      continue
    }
    const access = accessOf(bound.route)
    t.same((access ? [access.scope].flat() : ['public']).toSorted(), scopes.toSorted(), `${name}: its scopes`)
    if (!notAvailable.test(shapeOf(path))) continue
    const at = path.replace('{sandboxName}', 'web').replaceAll(/\{\w+\}/g, 'x')
    t.match(await call(method, at, {}), { status: 400, body: { error: 'not_available', code: 400 } }, name)
    t.match(await call(method, at.replace('web', 'nobody'), {}), { status: 404 }, `${name} of nothing`)
  }
})
