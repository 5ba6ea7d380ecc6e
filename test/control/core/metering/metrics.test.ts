import t, { type Test } from 'tap'
import { control } from '../../../support/control.ts'
import { makeExample, validName, withoutMachines } from '../../../support/kinds.ts'
import { instanceOf, putInstance, record, turn } from '../../../support/records.ts'

const hour = 3_600_000
const compute = 'sandbox_compute_runtime_gbs'
const snapshot = 'sandbox_snapshot_storage_gbs'
const prices = { [compute]: 0.00001, [snapshot]: 0.0000001, volume_storage_gbs: 0.000001 }
const from = '2026-01-01T00:00:00Z'
const to = '2026-01-01T04:00:00Z'

/** Two sandboxes of one name in two workspaces and a volume, metered in the first hours of 2026. */
const host = async (t: Test) => {
  const made = await control(t, { prices })
  const { store, clock } = made
  await made.addWorkspace('second')
  const start = clock.now()
  const add = async (uid: string, name: string, workspace: string, kind: string, dimension: string, hours: number) => {
    const made = instanceOf(record({ uid, name, workspace, kind, createdAt: start + hour }))
    await putInstance(store, made, [{ dimension, quantity: 2 }])
    await turn(store, [uid, 1], { metered: { rates: [] } }, start + hour + hours * hour)
  }
  await add('u1', 'box', 'default', 'sandbox', compute, 1)
  await add('u2', 'box', 'second', 'sandbox', compute, 2)
  await add('u3', 'disk', 'default', 'volume', 'volume_storage_gbs', 0.5)
  await turn(store, ['u1', 2], { metered: { rates: [{ dimension: snapshot, quantity: 1 }] } }, start + 3 * hour)
  await clock.tick(4 * hour)
  await store.meter.checkpoint(clock.now())
  const metrics = (query: Record<string, string> = {}, key = made.key) =>
    made.call(
      'GET',
      `/accounts/default/metrics?${new URLSearchParams({ startTime: from, endTime: to, ...query })}`,
      undefined,
      {
        headers: { authorization: `Bearer ${key}` },
      },
    )
  return { ...made, metrics, add }
}

const sumOf = (values: number[]) => Number(values.reduce((sum, value) => sum + value, 0).toFixed(9))

t.test('ungrouped: one entry, cost only, every bucket of the window', async t => {
  const { metrics } = await host(t)
  const { status, body } = await metrics()
  t.equal(status, 200)
  t.match(body, { startTime: from, endTime: to, resolution: 'hourly', meta: { hasMore: false, nextCursor: '' } })
  t.equal(body.data.length, 1)
  const [entry] = body.data
  t.same(Object.keys(entry).toSorted(), ['summary', 'timeseries'])
  t.same(entry.timeseries, [
    { timestamp: '2026-01-01T00:00:00Z', cost: 0 },
    { timestamp: '2026-01-01T01:00:00Z', cost: 0.1476 },
    { timestamp: '2026-01-01T02:00:00Z', cost: 0.072 },
    { timestamp: '2026-01-01T03:00:00Z', cost: 0.00036 },
  ])
  t.same(entry.summary, { cost: 0.21996 })
  t.same(body.summary, { totalCost: 0.21996 })
})

t.test('an account without usage has one entry of zeros; grouped it has none', async t => {
  const { metrics } = await host(t)
  const before = { startTime: '2025-01-01T00:00:00Z', endTime: '2025-03-01T00:00:00Z' }
  const { body } = await metrics(before)
  t.match(body, { resolution: 'daily', summary: { totalCost: 0 }, data: [{ summary: { cost: 0 } }] })
  t.equal(body.data[0].timeseries.length, 59)
  t.same((await metrics({ ...before, groupBy: 'resource_type' })).body.data, [])
})

t.test('each grouping fills its fields and those that go with it', async t => {
  const { metrics } = await host(t)
  const fields = ['workspace', 'resourceType', 'resourceName', 'resourceUuid', 'billingDimension']
  const groups = async (groupBy: string) => {
    const { body } = await metrics({ groupBy })
    t.equal(body.summary.totalCost, 0.21996, `${groupBy}: the total is the same however it is cut`)
    t.equal(sumOf(body.data.map((entry: { summary: { cost: number } }) => entry.summary.cost)), 0.21996, groupBy)
    const withUsage = groupBy.includes('billing_dimension')
    t.equal('totalUsage' in body.summary, withUsage)
    for (const { summary, timeseries } of body.data)
      for (const shown of [summary, ...timeseries]) t.equal('usage' in shown, withUsage)
    return body.data.map((entry: Record<string, unknown>) =>
      fields
        .filter(field => field in entry)
        .map(field => `${field}=${String(entry[field])}`)
        .join(' '),
    )
  }
  t.same(await groups('workspace'), ['workspace=default', 'workspace=second'])
  t.same(await groups('resource_type'), ['resourceType=sandbox', 'resourceType=volume'])
  t.same(await groups('resource_name'), [
    'workspace=default resourceType=sandbox resourceName=box',
    'workspace=default resourceType=volume resourceName=disk',
    'workspace=second resourceType=sandbox resourceName=box',
  ])
  t.same(await groups('resource_uuid'), [
    'workspace=default resourceType=sandbox resourceName=box resourceUuid=u1',
    'workspace=default resourceType=volume resourceName=disk resourceUuid=u3',
    'workspace=second resourceType=sandbox resourceName=box resourceUuid=u2',
  ])
  t.same(await groups('billing_dimension'), [
    `resourceType=sandbox billingDimension=${compute}`,
    `resourceType=sandbox billingDimension=${snapshot}`,
    'resourceType=volume billingDimension=volume_storage_gbs',
  ])
  t.same(await groups('billing_dimension,workspace'), await groups(' workspace , billing_dimension'))
})

t.test('usage is shown with a billing dimension, per bucket, group and window', async t => {
  const { metrics } = await host(t)
  const { body } = await metrics({ groupBy: 'billing_dimension', billingDimension: compute })
  t.same(body.summary, { totalCost: 0.216, totalUsage: 21_600 })
  t.same(body.data[0].summary, { cost: 0.216, usage: 21_600 })
  t.same(
    body.data[0].timeseries.map(({ usage }: { usage: number }) => usage),
    [0, 14_400, 7_200, 0],
  )
  const filtered = (await metrics({ billingDimension: compute })).body
  t.same(filtered.summary, { totalCost: 0.216 }, 'a filter alone shows no usage')
})

t.test('filters narrow the whole answer', async t => {
  const { metrics } = await host(t)
  const cost = async (query: Record<string, string>) => (await metrics(query)).body.summary.totalCost
  t.equal(await cost({ workspace: 'second' }), 0.144)
  t.equal(await cost({ resourceType: 'volume' }), 0.0036)
  t.equal(await cost({ resourceName: 'box' }), 0.21636)
  t.equal(await cost({ resourceUuid: 'u1' }), 0.07236)
  t.equal(await cost({ resourceType: 'volume', workspace: 'second' }), 0)
  t.equal(
    await cost({ resourceName: '', workspace: '', groupBy: '', cursor: '', limit: '' }),
    0.21996,
    'empty is absent',
  )
  t.equal(await cost({ startTime: '2026-01-01T01:30:00Z', endTime: '2026-01-01T02:30:00Z' }), 0.108)
})

t.test("pages of groups: each group once, the window's totals on every page", async t => {
  const { metrics, clock, add, store } = await host(t)
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 3; page++) {
    const { body } = await metrics({ groupBy: 'resource_uuid', limit: '1', ...(cursor ? { cursor } : {}) })
    t.equal(body.summary.totalCost, 0.21996)
    t.equal(body.meta.hasMore, page < 2)
    t.equal(body.meta.nextCursor !== '', page < 2)
    seen.push(...body.data.map((entry: { resourceUuid: string }) => entry.resourceUuid))
    if (page === 0) cursor = body.meta.nextCursor
    else if (body.meta.hasMore) cursor = body.meta.nextCursor
  }
  t.same(seen, ['u1', 'u3', 'u2'])

  const bound = { groupBy: 'resource_uuid', limit: '1', cursor }
  t.equal((await metrics({ ...bound, limit: '2' })).status, 200, 'the page size may change')
  for (const other of [
    { groupBy: 'resource_name' },
    { workspace: 'default' },
    { resolution: 'daily' },
    { endTime: '2026-01-01T03:00:00Z' },
  ])
    t.match(
      await metrics({ ...bound, ...other }),
      { status: 400, body: { message: /^cursor: / } },
      JSON.stringify(other),
    )
  t.match(await metrics({ ...bound, cursor: `${cursor}x` }), { status: 400 })
  await clock.tick(24 * hour + 1)
  t.match(await metrics(bound), { status: 400, body: { message: /24 hours/ } })
  for (let n = 0; n < 100; n++) await add(`v${n}`, `disk-${n}`, 'default', 'volume', 'volume_storage_gbs', 0.5)
  await store.meter.checkpoint(clock.now())
  for (const limit of ['', '100', '5000']) {
    const { body } = await metrics({ groupBy: 'resource_uuid', ...(limit ? { limit } : {}) })
    t.match(body, { data: { length: 100 }, meta: { hasMore: true } }, `a page has at most a hundred, limit=${limit}`)
  }
})

t.test('what cannot be understood is refused by name', async t => {
  const { metrics } = await host(t)
  const cases: [Record<string, string>, RegExp][] = [
    [{ startTime: '' }, /^startTime: /],
    [{ endTime: 'soon' }, /^endTime: /],
    [{ endTime: from }, /^endTime: .*after startTime/],
    [{ resolution: 'minutely' }, /^resolution: /],
    [{ resolution: 'hourly', endTime: '2026-01-08T00:00:01Z' }, /^resolution: .*7 days/],
    [{ groupBy: 'colour' }, /^groupBy: /],
    [{ groupBy: 'label' }, /^groupBy: "label" is not supported/],
    [{ groupBy: 'workspace,workspace' }, /^groupBy: .*twice/],
    [{ groupBy: 'workspace,' }, /^groupBy: /],
    [{ groupBy: 'workspace,resource_type,resource_name,resource_uuid' }, /^groupBy: .*3/],
    [{ label: 'a' }, /^label: /],
    [{ unit: 'GB' }, /^unit: /],
    [{ limit: '0' }, /^limit: /],
    [{ limit: 'many' }, /^limit: /],
    [{ cursor: 'nonsense' }, /^cursor: /],
  ]
  for (const [query, message] of cases)
    t.match(await metrics(query), { status: 400, body: { message } }, JSON.stringify(query))
})

t.test('workspaces are shown to account admins alone, accounts to their own', async t => {
  const { metrics, addKey, call } = await host(t)
  const member = await addKey({ role: 'admin', accountAdmin: false })
  for (const query of [{ workspace: 'default' }, { groupBy: 'resource_type,workspace' }])
    t.match(await metrics(query, member), { status: 403, body: { message: 'Access denied' } })
  t.equal((await metrics({ groupBy: 'resource_type' }, member)).status, 200)
  t.equal((await metrics({}, 'wrong')).status, 401)
  for (const rest of ['', '/enums/group-by', '/enums/resource-types'])
    t.match(await call('GET', `/accounts/other/metrics${rest}?startTime=${from}&endTime=${to}`), { status: 403 }, rest)
})

t.test('the enumerations', async t => {
  const { call } = await host(t)
  const path = '/accounts/default/metrics/enums'
  t.match(await call('GET', `${path}/group-by`), {
    status: 200,
    body: { values: ['workspace', 'resource_type', 'resource_name', 'resource_uuid', 'billing_dimension'] },
  })
  const types = (query: string) => call('GET', `${path}/resource-types${query}`)
  t.same((await types(`?startTime=${from}&endTime=${to}`)).body, { values: ['sandbox', 'volume'] })
  t.same((await types(`?startTime=2026-01-01T02:00:00Z&endTime=${to}`)).body, { values: ['sandbox'] })
  t.match(await types(''), { status: 400, body: { message: /startTime/ } })
})

t.test('a window of eight thousand years is answered in pages', async t => {
  const { metrics } = await host(t)
  const query = { startTime: '1970-01-01T00:00:00Z', endTime: '9999-12-31T00:00:00Z', groupBy: 'resource_uuid' }
  const { status, body } = await metrics(query)
  t.equal(status, 200)
  t.match(body, { resolution: 'monthly', summary: { totalCost: 0.21996 }, meta: { hasMore: true } })
  t.equal(body.data[0].timeseries.length, 12 * 8030)
})

t.test('a key of one workspace is told of that one alone, in the bill and in every listing', async t => {
  const made = await host(t)
  const { call, metrics, addKey } = made
  for (const role of ['member', 'admin'] as const) {
    const key = await addKey({ workspace: 'second', role, accountAdmin: true })
    const names = async (groupBy: string) =>
      (await metrics({ groupBy }, key)).body.data.map((entry: Record<string, unknown>) => [
        entry['workspace'],
        entry['resourceName'],
      ])
    t.same(await names('resource_name'), [['second', 'box']])
    t.same(await names('resource_uuid'), [['second', 'box']])
    t.equal((await metrics({}, key)).body.summary.totalCost, 0.144)
    t.equal((await metrics({ workspace: 'default' }, key)).status, 403)
    t.equal((await metrics({ groupBy: 'workspace' }, key)).status, 403)
    t.same((await metrics({ resourceUuid: 'u1', groupBy: 'resource_uuid' }, key)).body.data, [])
    const headers = { authorization: `Bearer ${key}` }
    const types = `/accounts/default/metrics/enums/resource-types?startTime=${from}&endTime=${to}`
    t.same((await call('GET', types, undefined, { headers })).body.values, ['sandbox'])
  }
  t.equal((await metrics({}, made.key)).body.summary.totalCost, 0.21996, 'the account sees all')
})

t.test('no listing shows a key what is of another workspace', async t => {
  const made = await control(t)
  const { call, api, addKey, addWorkspace, kinds } = made
  await addWorkspace('second')
  const key = await addKey({ workspace: 'second', role: 'admin', accountAdmin: true })
  const word = 'only-of-default'
  const marks = [word]
  for (const kind of withoutMachines(kinds.values()))
    if (kind.example && kind.verbs.includes('create'))
      marks.push((await makeExample(made, kind, kind.names.generate ? undefined : validName(kind, word))).name)
  await call('POST', '/api_keys', { name: word })
  await call('PUT', '/workspaces/default', { displayName: word })
  const lists = api.bounds
    .map(({ route }) => route)
    .filter(({ open, path, id }) => !open && id.includes('.list') && !path.includes(':'))
  t.ok(lists.length > 15)
  const seenBy = async (path: string, authorization: string) => {
    const { text } = await call('GET', path.replace('/v0', ''), undefined, { headers: { authorization } })
    return marks.filter(mark => text.includes(`"${mark}`))
  }
  let shown = 0
  for (const { path, id } of lists) {
    if ((await seenBy(`${path}?workspace=default`, `Bearer ${made.key}`)).length > 0) shown++
    t.same(await seenBy(path, `Bearer ${key}`), [], id)
    t.same(await seenBy(`${path}?workspace=default`, `Bearer ${key}`), [], `${id}, asked for`)
  }
  t.ok(shown > 10, `an admin of the account sees them: ${shown}`)
})
