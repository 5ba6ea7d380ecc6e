/** What an account may have: counted over its workspaces in the transaction that adds, whoever else adds at the same time. */
import t from 'tap'
import { loadConfig } from '../../../../control/base/config.ts'
import { control } from '../../../support/control.ts'

t.test('as many as it may have, over all workspaces, also when a hundred come at once', async t => {
  const { call, addWorkspace, addKey } = await control(t, { quotas: { sandboxes: 10, volumes: 0 } })
  await addWorkspace('team')
  await addWorkspace('theirs', 'rival')
  const create = (workspace: string, name: string) =>
    call('POST', `/sandboxes?workspace=${workspace}`, { metadata: { name } })
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => create(n % 2 ? 'team' : 'default', `one-${n}`)),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 10)
  const refused = answers.filter(({ status }) => status !== 200)
  t.match(refused[0], {
    status: 400,
    body: { error: 'QUOTA_EXCEEDED', code: 400, status_code: 400, message: /10 sandboxes in all its workspaces/ },
  })
  t.ok(refused.every(({ body }) => body.error === 'QUOTA_EXCEEDED'))
  const total = async (workspace: string) => (await call('GET', `/sandboxes?workspace=${workspace}`)).body.meta.total
  t.equal((await total('default')) + (await total('team')), 10)

  const [one] = (await call('GET', '/sandboxes?workspace=team')).body.data
  t.equal((await call('DELETE', `/sandboxes/${one.metadata.name}?workspace=team`)).status, 200)
  t.match(await create('default', 'late'), { status: 400 }, 'one on its way out is still there')
  t.match(await call('POST', '/volumes', { metadata: { name: 'v' } }), {
    status: 400,
    body: { error: 'quota_exceeded', message: /0 volumes/ },
  })
  t.equal((await call('POST', '/drives', { metadata: { name: 'd' } })).status, 200, 'what has no quota has no limit')
  const rival = { headers: { authorization: `Bearer ${await addKey({ account: 'rival', workspace: 'theirs' })}` } }
  t.equal((await call('POST', '/sandboxes', { metadata: { name: 'x' } }, rival)).status, 200, 'another account')
  t.same((await call('GET', '/quotas/account/default')).body, [
    { resourceType: 'sandboxes', value: 10 },
    { resourceType: 'volumes', value: 0 },
  ])
  t.match(await call('GET', '/quotas/account/rival'), { status: 403 })
})

t.test('one that is over makes room', async t => {
  const made = await control(t, { quotas: { sandboxes: 1 } })
  const { call, clock, store, transition } = made
  t.equal((await call('POST', '/sandboxes', { metadata: { name: 'a' } })).status, 200)
  t.equal((await call('POST', '/sandboxes', { metadata: { name: 'b' } })).status, 400)
  const [record] = await store.resources.everyOf('sandbox')
  await transition.write([{ record: record as never, event: { name: 'delete', message: 'deleted' } }])
  const [leaving] = await store.resources.everyOf('sandbox')
  await transition.write([{ record: leaving as never, event: { name: 'gone', message: 'gone' } }])
  t.match((await call('GET', '/sandboxes/a')).body, { status: 'TERMINATED' }, 'it can still be read')
  t.equal((await call('POST', '/sandboxes', { metadata: { name: 'b' } })).status, 200)
  await clock.tick(1)
})

t.test('no sandbox lives longer than the account may have', async t => {
  const { call } = await control(t, { quotas: { sandbox_ttl: 7 } })
  const ttl = async (name: string, given: unknown) => {
    const body = { metadata: { name }, spec: { runtime: { ttl: given } } }
    return (await call('POST', '/sandboxes', body)).body.spec.runtime.ttl
  }
  t.equal(await ttl('a', undefined), '7d')
  t.equal(await ttl('b', '2h'), '2h')
  t.equal(await ttl('c', '2w'), '7d')
  t.match((await call('PUT', '/sandboxes/b', { spec: { runtime: { ttl: null } } })).body.spec.runtime, { ttl: '7d' })
  t.same((await call('GET', '/quotas/account/default')).body, [
    { resourceType: 'sandbox_ttl', value: 7 },
    { resourceType: 'sandbox_enforced_ttl', value: 7 },
  ])
})

t.test('the variable', async t => {
  const load = (text: string) => loadConfig({ HUTCH_QUOTAS: text }, '/').quotas
  t.same(load(''), {})
  t.same(load('sandboxes=100, sandbox_ttl=30'), { sandboxes: 100, sandbox_ttl: 30 })
  for (const [wrong, said] of [
    ['sandboxes', /is not name=number/],
    ['sandboxes=-1', /is not name=number/],
    ['sandboxs=1', /did you mean sandboxes/],
    ['volumes=1,volumes=2', /is there twice/],
    ['sandbox_ttl=0', /would end every sandbox/],
  ] as const)
    t.throws(() => load(wrong), { message: new RegExp(`^HUTCH_QUOTAS: .*${said.source}`) }, wrong)
  const { kinds } = await control(t)
  const plurals = [...kinds.values()].filter(kind => kind.verbs.includes('create')).map(({ plural }) => plural)
  const counted: string[] = []
  try {
    load('zzzzzzzzzzzz=1')
  } catch (error) {
    counted.push(...(error as Error).message.split('there are ')[1]!.split(', '))
  }
  t.equal(counted.pop(), 'sandbox_ttl')
  t.ok(counted.length > 5)
  t.same(
    counted.filter(name => !plurals.includes(name)),
    [],
    'each is of a kind that there is',
  )
})
