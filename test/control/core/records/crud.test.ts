/** Rules of creating, shown on sandboxes: conflicts, replacement, races. */
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'
import { change } from '../../../support/records.ts'

const key = { kind: 'sandbox', workspace: 'default', parent: '', name: 'a' }
const body = { metadata: { name: 'a' } }

const becomes = async ({ store }: TestControl, status: string) => {
  const found = await store.resources.get(key)
  if (!found) throw new Error('no sandbox')
  await change(store, [found.uid, found.version], { status }, found.updatedAt)
  return found.uid
}

t.test('a name that is taken is 409, or the holder when one is only to exist', async t => {
  const { call, store } = await control(t)
  const first = (await call('POST', '/sandboxes', { ...body, spec: { runtime: { memory: 512 } } })).body
  t.equal((await call('POST', '/sandboxes', body)).status, 409)
  const same = await call('POST', '/sandboxes?createIfNotExist=true', { ...body, spec: { runtime: { memory: 1024 } } })
  t.match(same, { status: 200, body: { metadata: first.metadata, spec: { runtime: { memory: 512 } } } })
  t.equal((await call('POST', '/sandboxes?createIfNotExist=false', body)).status, 409)
  t.equal(await store.resources.count('sandbox', 'default'), 1)
})

for (const status of ['FAILED', 'TERMINATED'])
  t.test(`the name of one that is ${status} can be created again`, async t => {
    const made = await control(t)
    await made.call('POST', '/sandboxes', body)
    const old = await becomes(made, status)
    made.poked.length = 0
    t.match(await made.call('POST', '/sandboxes', body), { status: 200, body: { status: 'DEPLOYING' } })
    const now = await made.store.resources.get(key)
    t.not(now?.uid, old)
    t.same(made.poked, [`sandbox/${old}`, `sandbox/${now?.uid}`], 'both are looked at')
    t.equal(await made.store.resources.getByUid(old), undefined)
  })

t.test('one on its way out is as good as gone when one is to exist', async t => {
  const made = await control(t)
  await made.call('POST', '/sandboxes', body)
  const old = await becomes(made, 'DELETING')
  t.equal((await made.call('POST', '/sandboxes', body)).status, 409)
  t.match(await made.call('POST', '/sandboxes?createIfNotExist=true', body), { body: { status: 'DEPLOYING' } })
  t.not((await made.store.resources.get(key))?.uid, old)
})

t.test('a create that is refused does not take the place of the one that failed', async t => {
  const made = await control(t)
  await made.call('POST', '/sandboxes', body)
  const old = await becomes(made, 'FAILED')
  t.equal((await made.call('POST', '/sandboxes', { ...body, spec: { runtime: { image: 'none' } } })).status, 400)
  t.match(await made.store.resources.get(key), { uid: old, status: 'FAILED' })
})

t.test('of many creates at once one wins', async t => {
  const { call, store } = await control(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => call('POST', '/sandboxes', body)))
  t.same(answers.map(({ status }) => status).toSorted(), [200, ...Array.from({ length: 19 }, () => 409)])
  const sure = await Promise.all(
    Array.from({ length: 20 }, () => call('POST', '/sandboxes?createIfNotExist=true', { metadata: { name: 'b' } })),
  )
  t.same(
    sure.map(({ status }) => status),
    sure.map(() => 200),
  )
  t.equal(await store.resources.count('sandbox', 'default'), 2)
})

t.test('of many that replace a failed one at once, one wins', async t => {
  const made = await control(t)
  const many = (target: string) => Promise.all(Array.from({ length: 10 }, () => made.call('POST', target, body)))
  await made.call('POST', '/sandboxes', body)
  await becomes(made, 'FAILED')
  const answers = await many('/sandboxes')
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  const refused = answers.filter(({ status }) => status !== 200)
  for (const answer of refused) t.match(answer.body, { code: 409, error: 'SANDBOX_ALREADY_EXISTS' })
  await becomes(made, 'FAILED')
  t.same([...new Set((await many('/sandboxes?createIfNotExist=true')).map(({ status }) => status))], [200])
  t.equal(await made.store.resources.count('sandbox', 'default'), 1)
})

t.test('changes made at the same time all arrive', async t => {
  const { call } = await control(t)
  await call('POST', '/sandboxes', body)
  const changes = [
    { metadata: { labels: { a: 'b' } } },
    { metadata: { displayName: 'D' } },
    { spec: { runtime: { ttl: '9h' } } },
  ]
  const answers = await Promise.all(changes.map(change => call('PUT', '/sandboxes/a', change)))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  t.match((await call('GET', '/sandboxes/a')).body, {
    metadata: { labels: { a: 'b' }, displayName: 'D' },
    spec: { runtime: { ttl: '9h' } },
  })
})

t.test('the newest live one with an external id is found', async t => {
  const { call, clock } = await control(t)
  for (const name of ['a', 'b']) {
    await call('POST', '/sandboxes', { metadata: { name, externalId: 'Order-7' } })
    await clock.tick(1000)
  }
  t.match((await call('GET', '/sandboxes/by-external-id/Order-7')).body, { metadata: { name: 'b' }, events: Array })
  t.match((await call('GET', '/sandboxes?externalId=Order-7')).body, { data: [{}, {}], meta: { total: 2 } })
  t.match((await call('GET', '/sandboxes?externalId=other')).body, { data: [], meta: { total: 2 } })
})

t.test('one workspace does not see the other', async t => {
  const { call, addWorkspace } = await control(t)
  await addWorkspace('team')
  await call('POST', '/sandboxes?workspace=default', { metadata: { name: 'a', externalId: 'x' } })
  for (const target of ['/sandboxes/a', '/sandboxes/by-external-id/x'])
    t.equal((await call('GET', `${target}?workspace=team`)).status, 404)
  t.equal((await call('PUT', '/sandboxes/a?workspace=team', {})).status, 404)
  t.equal((await call('DELETE', '/sandboxes/a?workspace=team')).status, 404)
  t.match((await call('GET', '/sandboxes?workspace=team')).body, { data: [], meta: { total: 0 } })
  t.equal((await call('POST', '/sandboxes?workspace=team', body)).status, 200, 'the name is free there')
})
