/** Policies, connections and models: what names what, how often, and what a model says while nothing runs it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'

const policy = { metadata: { name: 'eu' }, spec: { type: 'location', locations: [{ name: 'eu', type: 'continent' }] } }
const connection = { metadata: { name: 'openai' }, spec: { integration: 'openai', secret: { apiKey: 'sk-hush' } } }
const model = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { integrationConnections: ['openai'], policies: ['eu'], ...spec },
})

const ready = async ({ call }: TestControl) => {
  await call('POST', '/policies', policy)
  await call('POST', '/integrations/connections', connection)
}

t.test('a model names what is there; what is missing is told by its field', async t => {
  const made = await control(t)
  const { call, store } = made
  const missing = async (body: object) => (await call('POST', '/models', body)).body.message
  t.equal(await missing(model('m')), 'spec.integrationConnections.0: integrationConnection "openai" not found')
  await ready(made)
  t.equal(await missing(model('m', { policies: ['eu', 'us'] })), 'spec.policies.1: policy "us" not found')
  t.equal(await store.resources.count('model', 'default'), 0)
  t.equal((await call('POST', '/models', model('m'))).status, 200)
  t.equal((await call('PUT', '/models/m', model('m', { policies: ['us'] }))).status, 400)
  t.match(
    (await call('GET', '/models/m')).body,
    { spec: { policies: ['eu'] } },
    'a change that is refused changes nothing',
  )
})

t.test('what is in use stays, and says who uses it', async t => {
  const made = await control(t)
  const { call } = made
  await ready(made)
  for (const name of ['a', 'b']) await call('POST', '/models', model(name))
  const usage = { agents: 0, functions: 0, jobs: 0, models: 2, sandboxes: 0 }
  t.same((await call('GET', '/policies/eu')).body.usage, usage)
  t.same((await call('GET', '/policies')).body.data[0].usage, usage, 'in the listing as well')
  t.match((await call('GET', '/policies/eu/usages')).body, { models: ['a', 'b'], agents: [] })
  for (const target of ['/policies/eu', '/integrations/connections/openai'])
    t.match(await call('DELETE', target), {
      status: 409,
      headers: { 'x-should-retry': 'false' },
      body: { error: 'in_use', message: /model "a", model "b"/ },
    })
  await call('DELETE', '/models/a')
  await call('PUT', '/models/b', { spec: {} })
  t.equal((await call('GET', '/policies/eu')).body.usage.models, 0)
  for (const target of ['/policies/eu', '/integrations/connections/openai'])
    t.equal((await call('DELETE', target)).status, 200)
})

t.test('a policy says what it is about', async t => {
  const { call } = await control(t)
  const wrong = async (spec: object) =>
    (await call('POST', '/policies', { metadata: { name: 'p' }, spec })).body.message
  t.match(await wrong({}), /^spec.type: is missing/)
  t.match(await wrong({ type: 'maxToken' }), /^spec.maxTokens: is missing/)
  t.match(await wrong({ type: 'maxToken', maxTokens: { step: 0 } }), /spec.maxTokens.step/)
  t.match(await wrong({ type: 'maxToken', maxTokens: { granularity: 'year' } }), /granularity/)
  t.match(await wrong({ type: 'flavor', flavors: [{ type: 'tpu' }] }), /flavors.0.type/)
  t.match(await wrong({ type: 'location', locations: [{ name: 'eu' }], resourceTypes: ['car'] }), /resourceTypes.0/)
  const ratio = { type: 'maxToken', maxTokens: { granularity: 'hour', step: 1, input: 5, ratioInputOverOutput: 0.5 } }
  t.match(await call('POST', '/policies', { metadata: { name: 'p' }, spec: ratio }), {
    status: 200,
    body: { spec: ratio },
  })
})

t.test('secrets are sealed, masked, and kept when the mask comes back', async t => {
  const made = await control(t)
  const { call, store, sealer, dataDir } = made
  await ready(made)
  const path = '/integrations/connections/openai'
  const open = async () => {
    const found = await store.resources.get({
      kind: 'integrationConnection',
      workspace: 'default',
      parent: '',
      name: 'openai',
    })
    const sealed = found?.spec['secret'] as Record<string, string>
    return Object.fromEntries(Object.entries(sealed).map(([name, value]) => [name, sealer.open(value)]))
  }
  t.same((await call('GET', path)).body.spec, { integration: 'openai', secret: { apiKey: '***' } })
  const answers = [await call('GET', '/integrations/connections'), await call('GET', `${path}?show_secrets=true`)]
  for (const { text } of answers) t.notMatch(text, 'sk-hush')
  const changed = await call('PUT', path, { spec: { secret: { apiKey: '***', organization: 'o-hush' } } })
  t.match(changed, { status: 200, body: { spec: { integration: 'openai', secret: { organization: '***' } } } })
  t.same(await open(), { apiKey: 'sk-hush', organization: 'o-hush' })
  await call('PUT', path, { metadata: { displayName: 'OpenAI' } })
  t.same(await open(), { apiKey: 'sk-hush', organization: 'o-hush' }, 'a change of something else')
  await call('PUT', path, { spec: { secret: { apiKey: 'new' } } })
  t.same(await open(), { apiKey: 'new' })
  t.match(await call('PUT', path, { spec: { secret: { other: '***' } } }), {
    status: 400,
    body: { message: /^spec.secret.other: "\*\*\*" stands for/ },
  })
  for (const name of ['__proto__', 'constructor', 'toString'])
    t.equal((await call('PUT', path, `{"spec":{"secret":{${JSON.stringify(name)}:"***"}}}`)).status, 400, name)
  t.same(await open(), { apiKey: 'new' })
  await call('PUT', path, '{"spec":{"secret":{"__proto__":"odd"}}}')
  t.same(Object.entries(await open()), [['__proto__', 'odd']])
  const disk = ['hutch.db', 'hutch.db-wal'].map(file => readFileSync(join(dataDir, file), 'latin1')).join('')
  t.notOk(disk.includes('hush'))
})

t.test('a model is looked at when it changes, and says so', async t => {
  const made = await control(t)
  const { call } = made
  await ready(made)
  t.match((await call('POST', '/models', model('m'))).body, {
    status: 'DEPLOYING',
    spec: { enabled: true },
    events: [{ type: 'deployment', status: 'DEPLOYING', message: 'looking at its provider' }],
  })
  const off = await call('PUT', '/models/m', model('m', { enabled: false }))
  t.match(off.body, { status: 'DEACTIVATED', events: [{}, { status: 'DEACTIVATED' }] })
  const on = await call('PUT', '/models/m', model('m'))
  t.match(on.body, { status: 'DEPLOYING', events: [{}, {}, { message: 'enabled' }] })
  t.equal(
    (await call('PUT', '/models/m', { metadata: { labels: { a: 'b' } } })).body.events.length,
    3,
    'labels are no event',
  )
  t.match(await call('POST', '/models', model('off', { enabled: false })), { body: { status: 'DEACTIVATED' } })
  t.match((await call('GET', '/models?status=deactivated')).body.data, [{ metadata: { name: 'off' } }])
  t.match(await call('PUT', '/models/m', { spec: {} }), { body: { spec: { enabled: true, policies: undefined } } })
  t.match(await call('POST', '/models', model('x', { runtime: { type: 'abacus' } })), { status: 400 })
})
