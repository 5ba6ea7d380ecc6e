/** Which secret who may read: one case for each line of the table. */
import t from 'tap'
import { control } from '../../../support/control.ts'

const env = (name: string) => [
  { name: 'OPEN', value: 'seen' },
  { name, value: 'hush', secret: true },
]

t.test('what the secrets of each kind look like to whom', async t => {
  const { call, addKey } = await control(t)
  const member = { headers: { authorization: `Bearer ${await addKey({})}` } }
  const bodies = {
    '/agents': { runtime: { envs: env('KEY') } },
    '/functions': { runtime: { envs: env('KEY') } },
    '/jobs': { runtime: { envs: env('KEY') } },
    '/sandboxes': { runtime: { envs: env('KEY') } },
  }
  for (const [path, spec] of Object.entries(bodies))
    await t.test(`variables of ${path}`, async t => {
      const made = await call('POST', path, { metadata: { name: 'one' }, spec })
      t.equal(made.status, 200)
      const masked = { body: { spec: { runtime: { envs: [{ value: 'seen' }, { value: '***', secret: true }] } } } }
      for (const answer of [
        made,
        await call('GET', `${path}/one`),
        await call('GET', `${path}/one`, undefined, member),
      ])
        t.match(answer, masked)
      t.notMatch((await call('GET', path)).text, /hush/)
      t.match(await call('GET', `${path}/one?show_secrets=true`), {
        status: 200,
        body: { spec: { runtime: { envs: [{ value: 'seen' }, { value: 'hush' }] } } },
      })
      t.equal((await call('GET', `${path}/one?show_secrets=true`, undefined, member)).status, 403)
    })

  await t.test('variables of an execution: nobody', async t => {
    const { executionId: id } = (await call('POST', '/jobs/one/executions', { env: { KEY: 'hush' } })).body
    const answer = await call('GET', `/jobs/one/executions/${id}?show_secrets=true`)
    t.same(JSON.parse(answer.body.spec.envOverride), { KEY: '***' })
    t.notMatch((await call('GET', '/jobs/one/executions')).text, /hush/)
  })

  await t.test('secrets of connections: nobody', async t => {
    const path = '/integrations/connections'
    const made = await call('POST', path, {
      metadata: { name: 'ai' },
      spec: { integration: 'x', secret: { key: 'hush' } },
    })
    for (const answer of [made, await call('GET', `${path}/ai?show_secrets=true`), await call('GET', path)]) {
      t.match(answer.text, /\*\*\*/)
      t.notMatch(answer.text, /hush/)
    }
  })

  await t.test('secrets of proxy rules: nobody, and they are not even there', async t => {
    const proxy = {
      routing: [{ destinations: ['api.example.com'], headers: { a: '{{SECRET:key}}' }, secrets: { key: 'hush' } }],
    }
    const made = await call('POST', '/sandboxes', { metadata: { name: 'held' }, spec: { network: { proxy } } })
    t.equal(made.status, 200)
    for (const answer of [
      made,
      await call('GET', '/sandboxes/held?show_secrets=true'),
      await call('GET', '/sandboxes'),
    ]) {
      t.notMatch(answer.text, /hush/)
      t.equal(Object.hasOwn(answer.body.spec?.network?.proxy?.routing?.[0] ?? {}, 'secrets'), false)
    }
  })

  await t.test('secrets of callbacks: once, when they come about', async t => {
    const trigger = (more: object) => ({ spec: { triggers: [{ id: 'a', type: 'http-async', configuration: more }] } })
    const secretIn = ({ body }: { body: { spec: { triggers: { configuration: { callbackSecret?: string } }[] } } }) =>
      body.spec.triggers[0]?.configuration.callbackSecret
    const url = { callbackUrl: 'https://example.com/done' }
    const made = await call('POST', '/agents', { metadata: { name: 'async' }, ...trigger(url) })
    const secret = secretIn(made)
    t.match(secret, /^[\w-]{20,}$/)
    t.equal(secretIn(await call('GET', '/agents/async')), '***')
    t.equal(secretIn(await call('GET', '/agents/async?show_secrets=true')), '***')
    t.notMatch((await call('GET', '/agents')).text, new RegExp(secret as string))
    t.equal(secretIn(await call('PUT', '/agents/async', trigger({ ...url, retry: 2 }))), '***', 'it stays')
    t.equal((await call('GET', '/agents/async/revisions')).body.length, 2)
    t.equal(secretIn(await call('PUT', '/agents/async', trigger({}))), undefined, 'no callback, no secret')
    const second = secretIn(await call('PUT', '/agents/async', trigger(url)))
    t.match(second, /^[\w-]{20,}$/)
    t.not(second, secret)
  })

  await t.test('keys and client secrets: once; tokens of previews: in every listing', async t => {
    const account = await call('POST', '/service_accounts', { name: 'ci' })
    t.type(account.body.client_secret, 'string')
    const path = `/service_accounts/${account.body.client_id}/api_keys`
    const key = await call('POST', path, { name: 'k' })
    t.notMatch((await call('GET', path)).text, key.body.apiKey)
    t.notMatch((await call('GET', '/service_accounts')).text, account.body.client_secret)
    await call('POST', '/sandboxes/one/previews', { metadata: { name: 'p' }, spec: { port: 3000 } })
    const { token } = (await call('POST', '/sandboxes/one/previews/p/tokens', { metadata: { name: 't' } })).body.spec
    t.match((await call('GET', '/sandboxes/one/previews/p/tokens')).body, [{ spec: { token } }])
  })
})
