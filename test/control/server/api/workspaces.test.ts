import t from 'tap'
import { control } from '../../../support/control.ts'
import { instanceOf, putInstance } from '../../../support/records.ts'

t.test('an account admin makes a workspace and works in it', async t => {
  const { call } = await control(t)
  const made = await call('POST', '/workspaces', { name: 'team-a', displayName: 'Team A' })
  t.match(made, {
    status: 200,
    body: { id: String, name: 'team-a', displayName: 'Team A', accountId: 'default', status: 'ready' },
  })
  t.match((await call('GET', '/workspaces')).body, [{ name: 'default' }, { name: 'team-a' }])
  await call('POST', '/sandboxes?workspace=team-a', {})
  const counted = { ...made.body, resourceCounts: { sandboxes: 1 } }
  t.match((await call('GET', '/workspaces/team-a?countResources=true')).body, counted)
  t.same((await call('GET', `/workspaces/${made.body.id}`)).body, made.body, 'by id too')
})

t.test('names that are taken, odd, or look like a version are refused', async t => {
  const { call, store } = await control(t)
  t.match(await call('POST', '/workspaces', { name: 'default' }), { status: 409, body: { error: 'already_exists' } })
  for (const name of ['v0', 'v1-x', 'A', '', '..', 'a'.repeat(50), 'a\0'])
    t.match(await call('POST', '/workspaces', { name }), { status: 400, body: { message: /name: / } }, name)
  t.match(await call('POST', '/workspaces', {}), { status: 400, body: { message: /name: is missing/ } })
  t.equal((await store.tenants.workspaces('default')).length, 1)
})

t.test('others see what they reach and make nothing', async t => {
  const { call, addKey, addWorkspace } = await control(t)
  await addWorkspace('team')
  await addWorkspace('foreign', 'other')
  const as = async (key: Parameters<typeof addKey>[0]) => ({
    headers: { authorization: `Bearer ${await addKey(key)}` },
  })
  const bound = await as({ workspace: 'team', accountAdmin: true })
  t.match((await call('GET', '/workspaces', undefined, bound)).body, [{ name: 'team' }])
  t.equal((await call('GET', '/workspaces/default', undefined, bound)).status, 403)
  t.equal((await call('GET', '/workspaces/foreign')).status, 403)
  t.equal((await call('GET', '/workspaces/none')).status, 404)
  t.equal((await call('POST', '/workspaces', { name: 'x' }, bound)).status, 403)
  t.equal((await call('POST', '/workspaces', { name: 'x' }, await as({ role: 'admin' }))).status, 403)
})

t.test('display name and labels can be changed by admins, the name never', async t => {
  const { call, addKey, clock } = await control(t)
  await clock.tick(1000)
  const changed = await call('PUT', '/workspaces/default', { displayName: 'Home', labels: { team: 'a' } })
  t.match(changed, { status: 200, body: { name: 'default', displayName: 'Home', labels: { team: 'a' } } })
  t.match(changed.body, { updatedBy: 'admin', updatedAt: '2026-01-01T00:00:01.000Z' })
  t.match((await call('PUT', '/workspaces/default', { labels: null })).body, { displayName: 'Home', labels: undefined })
  t.match(await call('PUT', '/workspaces/default', { name: 'x' }), { status: 400, body: { message: /^name: / } })
  const member = { headers: { authorization: `Bearer ${await addKey({})}` } }
  t.equal((await call('PUT', '/workspaces/default', { displayName: 'x' }, member)).status, 403)
  t.equal((await call('GET', '/workspaces/default')).body.displayName, 'Home')
})

t.test('a workspace goes with its keys and all that is in it; its bill stays, and its name', async t => {
  const { call, addKey, store, poked, clock } = await control(t, { prices: { sandbox_compute_runtime_gbs: 1 } })
  const last = { status: 409, headers: { 'x-should-retry': 'false' }, body: { message: /the last one of its account/ } }
  t.match(await call('DELETE', '/workspaces/default'), last)
  await call('POST', '/workspaces', { name: 'team' })
  const { body } = await call('POST', '/sandboxes?workspace=team', { metadata: { name: 'a' } })
  const held = await store.resources.get({ kind: 'sandbox', workspace: 'team', parent: '', name: 'a' })
  const owner = held as NonNullable<typeof held>
  t.equal(body.metadata.name, 'a')
  await putInstance(store, instanceOf(owner, { id: 'i', createdAt: clock.now() }), [
    { dimension: 'sandbox_compute_runtime_gbs', quantity: 1 },
  ])
  await clock.tick(10_000)
  const account = (await call('POST', '/service_accounts?workspace=team', { name: 'ci' })).body.client_id
  const { apiKey } = (await call('POST', `/service_accounts/${account}/api_keys?workspace=team`, {})).body
  const bound = { headers: { authorization: `Bearer ${await addKey({ workspace: 'team' })}` } }
  const service = { headers: { authorization: `Bearer ${apiKey}` } }
  for (const one of [bound, service]) t.equal((await call('GET', '/sandboxes', undefined, one)).status, 200)
  poked.splice(0)
  const gone = await call('DELETE', '/workspaces/team')
  t.match(gone, { status: 200, body: { name: 'team', message: /^the name "team" is not given again/ } })
  t.ok(poked.includes(`sandbox/${owner.uid}`), 'whoever has its machine is told')
  for (const one of [bound, service]) t.equal((await call('GET', '/sandboxes', undefined, one)).status, 401)
  t.equal((await call('GET', '/workspaces/team')).status, 404)
  t.equal((await call('DELETE', '/workspaces/team')).status, 404)
  t.equal((await call('POST', '/workspaces', { name: 'team' })).status, 409)
  const taken = (await call('POST', '/workspaces/availability?withReason=true', { name: 'team' })).body
  t.match(taken, { available: false, reason: 'taken', message: /is deleted, and is not given again/ })
  await clock.tick(10_000)
  const window = 'startTime=2025-12-31T00:00:00Z&endTime=2026-01-02T00:00:00Z&workspace=team&groupBy=billing_dimension'
  t.match((await call('GET', `/accounts/default/metrics?${window}`)).body.summary, { totalUsage: 10, totalCost: 10 })
  await t.rejects(store.apply([{ type: 'create', resource: { ...owner, uid: 'late' } }], 1), { code: 'not_found' })
})

t.test('availability says yes or no, and why when asked', async t => {
  const { call } = await control(t)
  const ask = async (name: string, query = '') =>
    (await call('POST', `/workspaces/availability${query}`, { name })).body
  t.equal(await ask('free'), true)
  t.equal(await ask('default'), false)
  const why = async (name: string) => (await ask(name, '?withReason=true')).reason
  t.same(await Promise.all(['free', 'default', 'run', 'v2', 'No!', 'svc', 'svc-tools', 'svcs'].map(why)), [
    '',
    'taken',
    'forbidden_reserved',
    'forbidden_v_prefix',
    'forbidden_reserved',
    'forbidden_svc',
    'forbidden_svc',
    '',
  ])
  t.match(await call('POST', '/workspaces', { name: 'svc-x' }), { status: 400, body: { message: /^name: / } })
  t.match(await call('POST', '/workspaces', { name: 'run' }), { status: 400 })
})
