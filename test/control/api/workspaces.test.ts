import t from 'tap'
import { control } from '../../support/control.ts'

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
  t.same((await call('GET', '/workspaces/team-a?countResources=true')).body, counted)
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
