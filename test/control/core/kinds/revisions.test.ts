/** Revisions of agents, functions, jobs and models: five, immutable, active and canary. */
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'

interface Row {
  readonly id: string
  readonly active: boolean
  readonly canary: boolean
  readonly previousActive: boolean
  readonly trafficPercent: number
}

const put = async ({ call }: TestControl, image: string, more: object = {}) =>
  (await call('PUT', '/agents/a', { spec: { runtime: { image }, ...more } })).body

const rows = async ({ call }: TestControl): Promise<Row[]> => (await call('GET', '/agents/a/revisions')).body

const agent = async (made: TestControl) =>
  (await made.call('POST', '/agents', { metadata: { name: 'a' }, spec: { runtime: { image: 'i:1' } } })).body

t.test('each change that is deployed makes one, and it is active; nothing else does', async t => {
  const made = await control(t)
  const first = await agent(made)
  const id = first.spec.revision.active
  t.match(first.events, [{ status: 'DEPLOYING', revision: id, message: 'created' }])
  t.match(await rows(made), [{ id, active: true, canary: false, trafficPercent: 100, createdBy: 'admin' }])
  const again = await put(made, 'i:1')
  t.equal(again.spec.revision.active, id, 'the same again')
  t.equal((await made.call('PUT', '/agents/a', { metadata: { labels: { a: 'b' } } })).body.spec.revision.active, id)
  const second = await put(made, 'i:2')
  t.not(second.spec.revision.active, id)
  t.match(second.events.at(-1), { revision: second.spec.revision.active })
  t.match(await rows(made), [
    { active: true, previousActive: false },
    { id, active: false, previousActive: true, trafficPercent: 0 },
  ])
})

t.test('an older one can be made active, and beside it a canary', async t => {
  const made = await control(t)
  const one = (await agent(made)).spec.revision.active
  const two = (await put(made, 'i:2')).spec.revision.active
  const back = await put(made, 'i:2', { revision: { active: one } })
  t.equal(back.spec.revision.active, one)
  const three = (await put(made, 'i:3', { revision: { active: one, canary: two, canaryPercent: 20 } })).spec.revision
  t.match(three, { active: one, canary: two, canaryPercent: 20 }, 'a newer one does not take over from an older one')
  const [newest, ...rest] = await rows(made)
  t.match(newest, { active: false, canary: false, trafficPercent: 0 })
  t.match(rest, [
    { id: two, canary: true, trafficPercent: 20 },
    { id: one, active: true, trafficPercent: 80 },
  ])
  const { events } = (await made.call('GET', '/agents/a')).body
  t.match(events.at(-1), { revision: newest?.id, canaryRevision: two })
  t.match(await made.call('PUT', '/agents/a', { spec: { revision: { active: 'none' } } }), {
    status: 400,
    body: { message: 'spec.revision.active: revision "none" not found' },
  })
  t.equal((await made.call('PUT', '/agents/a', { spec: { revision: { canaryPercent: 101 } } })).status, 400)
})

t.test('the last five are kept, and those that carry traffic', async t => {
  const made = await control(t)
  const first = (await agent(made)).spec.revision.active
  for (let image = 2; image <= 8; image++) await put(made, `i:${image}`)
  t.equal((await rows(made)).length, 5)
  t.notOk((await rows(made)).some(({ id }) => id === first))
  const oldest = (await rows(made)).at(-1)?.id as string
  await put(made, 'i:8', { revision: { active: oldest } })
  for (let image = 9; image <= 14; image++) await put(made, `i:${image}`, { revision: { active: oldest } })
  const all = await rows(made)
  t.equal(all.length, 6, 'five and the one that is active')
  t.match(all.at(-1), { id: oldest, active: true })
})

t.test('what clients read and send back changes nothing', async t => {
  const made = await control(t)
  await agent(made)
  const read = (await made.call('GET', '/agents/a')).body
  t.match((await made.call('PUT', '/agents/a', read)).body.spec, read.spec)
  t.equal((await rows(made)).length, 1)
  read.spec.runtime.image = 'i:2'
  const changed = (await made.call('PUT', '/agents/a', read)).body
  t.not(changed.spec.revision.active, read.spec.revision.active, 'the active one came back with a new image')
})

t.test('secrets of variables: masked, shown to admins, kept; the same again is no revision', async t => {
  const made = await control(t)
  const { call, addKey } = made
  const runtime = { image: 'i:1', envs: [{ name: 'TOKEN', value: 'hush', secret: true }] }
  await call('POST', '/agents', { metadata: { name: 'a' }, spec: { runtime } })
  t.match((await call('GET', '/agents/a')).body.spec.runtime.envs, [{ name: 'TOKEN', value: '***', secret: true }])
  t.match((await call('GET', '/agents/a?show_secrets=true')).body.spec.runtime.envs, [{ value: 'hush' }])
  const member = { headers: { authorization: `Bearer ${await addKey({})}` } }
  t.equal((await call('GET', '/agents/a?show_secrets=true', undefined, member)).status, 403)
  await call('PUT', '/agents/a', { spec: { runtime } })
  t.equal((await rows(made)).length, 1, 'sealed again it is still the same')
  t.notMatch((await call('GET', '/agents/a/revisions')).text, 'hush')
  t.notMatch(JSON.stringify(await made.store.resources.everyOf('agent')), 'hush')
})

t.test('every kind with revisions lists them', async t => {
  const { call } = await control(t)
  for (const plural of ['agents', 'functions', 'jobs', 'models']) {
    t.equal((await call('POST', `/${plural}`, { metadata: { name: 'x' }, spec: {} })).status, 200)
    t.match((await call('GET', `/${plural}/x/revisions`)).body, [{ active: true, trafficPercent: 100 }], plural)
    t.equal((await call('GET', `/${plural}/none/revisions`)).status, 404)
    const upload = await call('POST', `/${plural}?upload=true`, { metadata: { name: 'y' } })
    if (plural === 'models') t.match(upload, { status: 400, body: { message: /^upload: / } })
    else t.match(upload, { status: 200, body: { status: 'UPLOADING' }, headers: { 'X-Svc-Upload-Url': String } })
  }
  t.equal(Object.hasOwn((await call('GET', '/models/x')).body.spec, 'revision'), false)
})

t.test('triggers have ids of their own, volumes have to be there', async t => {
  const { call } = await control(t)
  const triggers = [
    { type: 'http' },
    { type: 'http', id: 'http-1' },
    { type: 'cron', configuration: { schedule: '0 * * * *' } },
  ]
  const { body } = await call('POST', '/jobs', { metadata: { name: 'j' }, spec: { triggers } })
  t.match(body.spec.triggers, [{ id: 'http-1', enabled: true }, { id: 'http-1-2' }, { id: 'cron-3' }])
  for (const schedule of ['*/5 9-17 * * mon-fri', '0 0 1,15 jan 7', '0 9 * * 1-5/2']) {
    const cron = [{ type: 'cron', configuration: { schedule } }]
    t.equal((await call('PUT', '/jobs/j', { spec: { triggers: cron } })).status, 200, schedule)
  }
  for (const schedule of [
    'bad',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* * 0 * *',
    '*/0 * * * *',
    '5-1 * * * *',
    '',
  ]) {
    const cron = [{ type: 'cron', configuration: { schedule } }]
    t.match(await call('PUT', '/jobs/j', { spec: { triggers: cron } }), {
      status: 400,
      body: { message: /spec\.triggers\.0\.configuration\.schedule: must be five fields/ },
    })
  }
  t.match(
    await call('POST', '/agents', { metadata: { name: 'a' }, spec: { volumes: [{ name: 'v', mountPath: '/v' }] } }),
    {
      status: 400,
      body: { message: 'spec.volumes.0.name: volume "v" not found' },
    },
  )
  t.equal(
    (await call('POST', '/agents', { metadata: { name: 'a' }, spec: { triggers: [{ type: 'mail' }] } })).status,
    400,
  )
})
