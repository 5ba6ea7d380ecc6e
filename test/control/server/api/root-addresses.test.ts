/** Executions are asked for without a version too, over a real socket; a preview ends by itself on a whole host. */
import t from 'tap'
import { rootAddresses } from '../../../../control/server/api/root-addresses.ts'
import { plainKinds } from '../../../../control/core/kinds/index.ts'
import { testHost } from '../../../support/whole-host.ts'
import { until } from '../../../support/until.ts'

t.test('which addresses those are', async t => {
  const address = rootAddresses(plainKinds, { '/healthz': '/v0/healthz' })
  t.equal(address('/team/jobs/j/executions'), '/v0/jobs/j/executions?workspace=team')
  t.equal(
    address('/team/jobs/j/executions/1?x=y&workspace=other'),
    '/v0/jobs/j/executions/1?workspace=team&x=y&workspace=other',
  )
  for (const url of [
    '/v0/jobs/j/executions',
    '/v1/jobs/j/executions',
    '/team/jobs/j',
    '/team/jobs',
    '/jobs/j/executions',
    '//jobs/j/executions',
    '',
  ])
    t.equal(address(url), undefined, url)
})

t.test('a job is executed at the address of its workspace', async t => {
  const { host, api } = await testHost(t)
  const { url } = await host.listen()
  await api('POST', '/jobs', { metadata: { name: 'j' }, spec: {} })
  const ask = async (
    path: string,
    headers: Record<string, string> = { authorization: `Bearer ${host.first.adminKey}` },
  ) => fetch(`${url}${path}`, { method: 'POST', headers, body: '{"tasks":[{"a":1}]}' })
  const made = await ask('/default/jobs/j/executions')
  t.equal(made.status, 200)
  t.match(await made.json(), { jobId: 'j', workspaceId: 'default', tasks: [{ a: 1 }] })
  t.equal((await ask('/default/jobs/j/executions', {})).status, 401)
  t.equal((await ask('/nowhere/jobs/j/executions')).status, 404)
})

t.test('a preview ends when its time is over, with its tokens', async t => {
  const { host, api } = await testHost(t)
  await api('POST', '/sandboxes', { metadata: { name: 'web' } })
  const path = '/sandboxes/web/previews'
  t.equal((await api('POST', path, { metadata: { name: 'short' }, spec: { port: 3000, ttl: '1s' } })).status, 200)
  await api('POST', path, { metadata: { name: 'long' }, spec: { port: 3000, ttl: '1h' } })
  await api('POST', `${path}/short/tokens`, { metadata: { name: 'guest' } })
  await until(async () => (await api('GET', `${path}/short`)).status === 404, 'the end of a preview')
  t.equal(await host.store.resources.count('previewToken', 'default'), 0)
  t.match((await api('GET', path)).body, [{ metadata: { name: 'long' } }])
})
