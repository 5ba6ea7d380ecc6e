/** Executions of jobs: queued with their tasks in one step, cancelled with them in one step. */
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'

const job = async ({ call }: TestControl, spec: object = {}) => {
  const runtime = { image: 'job:1', memory: 512, maxRetries: 2, timeout: 60 }
  await call('POST', '/jobs', { metadata: { name: 'j' }, spec: { runtime, ...spec } })
}

const path = '/jobs/j/executions'

t.test('an execution is queued with its tasks, and says so', async t => {
  const made = await control(t)
  const { call, store } = made
  await job(made)
  const body = { id: 'mine', tasks: [{ name: 'John' }, { name: 'Jane' }], env: { TOKEN: 'hush' }, memory: 256 }
  const { status, body: output } = await call('POST', path, body)
  t.equal(status, 200)
  t.match(output, { executionId: /^[\da-f-]{36}$/, id: 'mine', jobId: 'j', workspaceId: 'default', tasks: body.tasks })
  const { executionId } = output
  const read = (await call('GET', `${path}/${executionId}`)).body
  t.match(read, {
    metadata: { id: executionId, job: 'j', workspace: 'default', createdAt: String },
    spec: { tasks: body.tasks, parallelism: 2, timeout: 60, memoryOverride: 256, envOverride: '{"TOKEN":"***"}' },
    stats: { total: 2, cancelled: 0, running: 0 },
    status: 'queued',
  })
  t.notMatch(JSON.stringify(await store.resources.everyOf('execution')), 'hush')
  t.match((await call('GET', `${path}/${executionId}/tasks`)).body, {
    data: [
      { metadata: { name: 'task-0000' }, spec: { maxRetries: 2, timeout: '60s' }, status: 'pending', conditions: [] },
      { metadata: { name: 'task-0001' } },
    ],
    meta: { total: 2, hasMore: false },
  })
  const old = { headers: { 'svc-version': '2026-04-16' } }
  t.match(await call('GET', `${path}/${executionId}/tasks`, undefined, old), {
    status: 404,
    body: { error: 'route_not_found' },
  })
  t.match((await call('POST', path, {})).body, { tasks: [{}], id: String }, 'without tasks there is an empty one')
})

t.test('cancelling reaches the tasks, and repeating it changes nothing', async t => {
  const made = await control(t)
  const { call, clock } = made
  await job(made)
  const { executionId } = (await call('POST', path, { tasks: [{}, {}, {}] })).body
  const other = (await call('POST', path, {})).body.executionId
  await clock.tick(1000)
  const one = `${path}/${executionId}`
  const cancelled = { status: 'cancelled', stats: { total: 3, cancelled: 3 }, metadata: { completedAt: /00:00:01/ } }
  t.match(await call('DELETE', one), { status: 200, body: cancelled })
  const { body: before } = await call('GET', one)
  await clock.tick(1000)
  t.match(await call('DELETE', one), { status: 200, body: cancelled })
  t.same((await call('GET', one)).body, before)
  const tasks = (await call('GET', `${one}/tasks`)).body.data
  t.same(
    tasks.map(({ status }: { status: string }) => status),
    ['cancelled', 'cancelled', 'cancelled'],
  )
  t.match((await call('GET', `${path}/${other}`)).body, { status: 'queued' })
  t.equal((await call('DELETE', `${path}/none`)).status, 404)
})

t.test('what cannot be run is refused and leaves nothing', async t => {
  const made = await control(t)
  const { call, store } = made
  await job(made)
  t.match(await call('POST', path, { allowQueue: false }), {
    status: 429,
    body: { code: 429, error: /Maximum parallel executions limit reached/ },
  })
  t.match(await call('POST', path, { memory: 1024, allowQueue: false }), {
    status: 400,
    body: { message: /^memory: / },
  })
  t.equal((await call('POST', path, { tasks: 7 })).status, 400)
  t.equal((await call('POST', path, { tasks: Array.from({ length: 1001 }, () => ({})) })).status, 400)
  t.equal((await call('POST', '/jobs/none/executions', {})).status, 404)
  await call('PUT', '/jobs/j', { spec: { enabled: false } })
  t.match(await call('POST', path, {}), { status: 409, body: { error: 'wrong_state', message: /DEACTIVATED/ } })
  for (const kind of ['execution', 'task']) t.equal(await store.resources.count(kind, 'default'), 0, kind)
})

t.test('executions are bound to the job as it was read, and go with it', async t => {
  const made = await control(t)
  const { call, store } = made
  await job(made)
  const [, ...answers] = await Promise.all([
    call('DELETE', '/jobs/j'),
    ...Array.from({ length: 5 }, () => call('POST', path, { tasks: [{}, {}] })),
  ])
  for (const { status } of answers) t.ok(status === 200 || status === 404, `${status}`)
  for (const kind of ['job', 'execution', 'task']) t.equal(await store.resources.count(kind, 'default'), 0, kind)
})

t.test('a job that is disabled in between takes no execution', async t => {
  const made = await control(t)
  const { call, store } = made
  await job(made)
  const { resources } = store as { resources: { get: typeof store.resources.get } }
  const get = resources.get
  let disabled: Promise<unknown> | undefined
  resources.get = async key => {
    const found = await get(key)
    if (key.kind === 'job')
      await (disabled ??= ((resources.get = get), call('PUT', '/jobs/j', { spec: { enabled: false } })))
    return found
  }
  t.match(await call('POST', path, {}), { status: 409, body: { error: 'wrong_state' } })
  t.equal(await store.resources.count('execution', 'default'), 0)
})

t.test('pages are of 20, at most 100; older versions take limit and offset', async t => {
  const made = await control(t)
  const { call, clock } = made
  await job(made)
  const ids: string[] = []
  for (let index = 0; index < 105; index++) {
    ids.unshift((await call('POST', path, {})).body.executionId)
    await clock.tick(10)
  }
  const idsOf = (items: { metadata: { id: string } }[]) => items.map(({ metadata }) => metadata.id)
  const page = (await call('GET', path)).body
  t.match(page, { data: { length: 20 }, meta: { total: 105, hasMore: true } })
  t.equal((await call('GET', `${path}?limit=1000`)).body.data.length, 100)
  t.same(idsOf((await call('GET', `${path}?offset=50`)).body.data), ids.slice(0, 20), 'newer versions know no offset')
  const old = { headers: { 'svc-version': '2026-04-16' } }
  const part = async (query: string) => idsOf((await call('GET', `${path}${query}`, undefined, old)).body)
  t.same(await part(''), ids.slice(0, 20))
  t.same(await part('?limit=3&offset=2'), ids.slice(2, 5))
  t.same(await part('?limit=1000&offset=10'), ids.slice(10, 105).slice(0, 100))
  t.same(await part('?offset=200'), [])
  t.equal((await call('GET', `${path}?offset=-1`, undefined, old)).status, 400)
})
