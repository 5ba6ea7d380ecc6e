/** Limits that hold, and what happens where a provider fails. */
import { writeFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  chatAnswer,
  chatEvents,
  events,
  json,
  modelUpstream,
  used,
  type Behaviour,
} from '../../../support/model-upstream.ts'
import { modelHost, type ModelHost } from '../../../support/models.ts'
import { until } from '../../../support/until.ts'

t.setTimeout(200_000)

const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 }

const caller =
  (host: ModelHost) =>
  async (name: string, more: object = {}, path = '/v1/chat/completions') => {
    const answer = await fetch(`${host.url}/default/models/${name}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${host.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...more }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) as Record<string, never> }
  }

const slow =
  (behaviour: Behaviour, ms: number): Behaviour =>
  async (asked, response) => {
    await new Promise(resolve => setTimeout(resolve, ms))
    return behaviour(asked, response)
  }

const counted = (host: ModelHost, name: string, requests: number) =>
  until(async () => (await host.usage(name)).summary['requests'] === requests, `${requests} calls of ${name}`)

const policy = (host: ModelHost, name: string, maxTokens: object) =>
  host.api('POST', '/policies', { metadata: { name }, spec: { type: 'maxToken', maxTokens } })

t.test('token policies', async t => {
  const upstream = await modelUpstream(t, slow(json(chatAnswer('x', used(10, 20))), 50))
  const host = await modelHost(t, [upstream.origin])
  const call = caller(host)
  const model = (name: string, policies: string[]) => host.model(name, { baseUrl: upstream.origin, spec: { policies } })

  await t.test('400 calls at once share one: no more is used than the calls that cross it', async t => {
    await policy(host, 'three', { granularity: 'hour', step: 1, total: 3000 })
    await model('crowd', ['three'])
    // All of them come before the first is answered.
    upstream.behave(slow(json(chatAnswer('x', used(10, 20))), 3000))
    const answers = await Promise.all(Array.from({ length: 400 }, () => call('crowd')))
    const served = answers.filter(({ status }) => status === 200).length
    t.equal(answers.filter(({ status }) => status === 429).length, 400 - served)
    // 3,000 tokens are 100 calls of 30 each; a reservation may be a little more or less than what is used.
    t.ok(served * 30 <= 3000 * 1.3 && served * 30 >= 3000 * 0.5, `${served} calls were let in`)
    upstream.behave(json(chatAnswer('x', used(10, 20))))
    for (let more = 0; more < 200; more++) if ((await call('crowd')).status === 429) break
    const { summary } = await host.usage('crowd')
    t.ok(
      (summary['totalTokens'] ?? 0) >= 3000 && (summary['totalTokens'] ?? 0) <= 3000 * 1.3,
      `${summary['totalTokens']}`,
    )
    t.equal((await call('crowd')).status, 429)
    t.match(await call('crowd'), { status: 429, json: { error: { code: 'POLICY_VIOLATION', retryable: true } } })
  })

  await t.test('input, output, and their ratio; of several one that allows it is enough', async t => {
    await policy(host, 'in-ten', { granularity: 'minute', step: 1, input: 10 })
    await policy(host, 'out-million', { granularity: 'day', step: 2, output: 1_000_000 })
    await policy(host, 'ratio', { granularity: 'hour', step: 1, ratioInputOverOutput: 0.4 })
    await model('in', ['in-ten'])
    t.same([(await call('in')).status, (await call('in')).status], [200, 429])
    await model('either', ['in-ten', 'out-million'])
    t.same([(await call('either')).status, (await call('either')).status], [200, 200])
    await model('ratio', ['ratio'])
    t.same([(await call('ratio')).status, (await call('ratio')).status], [200, 429])
  })

  await t.test('a change counts at once, and what was used before it does too', async t => {
    await host.api('PUT', '/policies/in-ten', { spec: { maxTokens: { granularity: 'minute', step: 1, input: 25 } } })
    t.same([(await call('in')).status, (await call('in')).status, (await call('in')).status], [200, 200, 429])
  })

  await t.test('what is used is known after a restart', async t => {
    const { summary } = await host.usage('crowd')
    await host.close()
    const { openTestHost } = await import('../../../support/whole-host.ts')
    const again = await openTestHost(t, host.dataDir, { config: { providers: [upstream.origin] } })
    const { url } = await again.host.listen()
    const answer = await fetch(`${url}/default/models/crowd/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${host.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    t.equal(answer.status, 429)
    t.match((await again.api('GET', '/models/crowd/usage')).body.summary, { totalTokens: summary['totalTokens'] })
  })
})

t.test('usage that cannot be written down', async t => {
  const upstream = await modelUpstream(t, json(chatAnswer('x', used(1, 2))))
  const host = await modelHost(t, [upstream.origin])
  const call = caller(host)
  await policy(host, 'wide', { granularity: 'hour', step: 1, total: 1_000_000 })
  await host.model('limited', { baseUrl: upstream.origin, spec: { policies: ['wide'] } })
  await host.model('free', { baseUrl: upstream.origin })
  t.equal((await call('limited')).status, 200)
  const { modelUsage } = host.host.store
  const add = modelUsage.add.bind(modelUsage)
  Object.assign(modelUsage, { add: () => Promise.reject(new Error('the disk is full')) })
  t.equal((await call('free')).status, 200)
  await until(async () => (await call('limited')).status === 503, 'a limited model to be closed')
  t.match(await call('limited'), { status: 503, json: { error: { code: 'USAGE_UNRECORDED' } } })
  t.equal((await call('free')).status, 200, 'others serve')
  t.ok(((await host.usage('free')).summary['unrecorded'] ?? 0) >= 2, 'the gap is counted')
  t.match((await host.api('GET', '/metrics')).text, /hutch_model_usage_unrecorded\{state="waiting"\} [1-9]/)
  Object.assign(modelUsage, { add })
  await until(async () => (await call('limited')).status === 200, 'it to open again')
  t.match((await host.usage('free')).summary, { requests: 2, unrecorded: 0 })
})

t.test('dollars', async t => {
  const upstream = await modelUpstream(t, slow(json(chatAnswer('x', used(30, 20))), 30))
  const host = await modelHost(t, [upstream.origin])
  const call = caller(host)
  const tables = join(host.dataDir, 'catalogues')
  mkdirSync(tables, { recursive: true })
  const prices = [
    { provider: 'openai', model: 'm', from: '2020-01-01', input: 1, output: 4 },
    { provider: 'openai', model: 'm', from: '2020-06-01', input: 2, output: 8 },
    { provider: 'openai', model: 'm*', from: '2021-01-01', input: 100, output: 100 },
    { provider: 'openai', model: 'm', from: '2999-01-01', input: 1000, output: 1000 },
  ]
  writeFileSync(join(tables, 'model-prices.json'), JSON.stringify(prices))
  await host.model('paid', { baseUrl: upstream.origin })
  await host.model('unpriced', { baseUrl: upstream.origin, spec: { runtime: { type: 'openai', model: 'x' } } })
  t.equal((await call('paid')).status, 200)
  await call('unpriced')
  await counted(host, 'paid', 1)
  t.match((await host.usage('paid')).summary, { costUsd: (30 * 2 + 20 * 8) / 1e6 })
  await counted(host, 'unpriced', 1)
  t.notOk('costUsd' in (await host.usage('unpriced')).summary, 'no price is no number')
  // 0.00022 so far; each call costs as much.
  writeFileSync(join(tables, 'model-budgets.json'), JSON.stringify([{ key: '*', usdPerDay: 0.001, usdPerMonth: 9 }]))
  const answers = await Promise.all(Array.from({ length: 100 }, () => call('paid')))
  const served = answers.filter(({ status }) => status === 200).length
  const refused = answers.find(({ status }) => status === 429)
  t.ok(served >= 3 && served <= 5, `${served} were let in`)
  t.match(refused?.json, { error: { code: 'POLICY_VIOLATION', message: /0.001 USD a day/ } })
  t.ok(Number(refused?.headers.get('retry-after')) > 0)
  t.equal((await call('paid')).status, 429)
})

t.test('retries and fallbacks', async t => {
  const upstream = await modelUpstream(t, json({ error: { message: 'overloaded' } }, 529))
  const other = await modelUpstream(t, json(chatAnswer('other', used(1, 2))))
  const host = await modelHost(t, [upstream.origin, other.origin, 'http://127.0.0.1:1'])
  const call = caller(host)
  await host.model('spare', { baseUrl: other.origin })
  await host.model('first', { baseUrl: upstream.origin, spec: { fallbacks: ['nobody', 'spare'], retries: 1 } })
  const answer = await call('first')
  t.match(answer, { status: 200, json: { choices: [{ message: { content: 'other' } }] } })
  t.equal(answer.headers.get('x-svc-served-model'), 'spare')
  const chats = () => upstream.asked.filter(({ url }) => url.endsWith('/chat/completions')).length
  t.equal(chats(), 2, 'asked again once')
  await counted(host, 'first', 1)
  t.match((await host.usage('first', '?groupBy=model')).data, [{ model: 'spare', requests: 1, outputTokens: 2 }])

  let count = 0
  upstream.behave((asked, response) =>
    json(...((count++ === 0 ? [{}, 429, { 'retry-after': '1' }] : [chatAnswer('again')]) as [object]))(asked, response),
  )
  const began = performance.now()
  t.match(await call('first'), { status: 200, json: { choices: [{ message: { content: 'again' } }] } })
  t.ok(performance.now() - began >= 990, 'as late as the provider says')

  upstream.behave(json({ error: { message: 'bad' } }, 400))
  const before = chats()
  t.equal((await call('first')).status, 400, 'what no other attempt would mend is passed on')
  t.equal(chats(), before + 1)

  await host.model('away', { baseUrl: 'http://127.0.0.1:1/v1' })
  t.match(await call('away'), { status: 502, json: { error: { code: 'UPSTREAM_FAILED', message: /nobody listens/ } } })
  await counted(host, 'away', 1)
  t.match((await host.usage('away')).summary, { requests: 1, errors: 1, totalTokens: 0 })

  upstream.behave(async (asked, response) => {
    await events(chatEvents(['a', 'b']).slice(0, 2), { end: false })(asked, response)
    response.socket?.destroy()
  })
  const cut = await fetch(`${host.url}/default/models/first/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
  })
  const others = other.asked.length
  await t.rejects(cut.text())
  t.equal(other.asked.length, others, 'nothing is asked again once the client has had something')
})

t.test('the status of a model', async t => {
  const upstream = await modelUpstream(t, (asked, response) => {
    if (asked.url === '/v1/models/m') return json({ id: 'm' })(asked, response)
    if (asked.url === '/v1/models') return json({ data: [{ id: 'm' }] })(asked, response)
    if (asked.headers.authorization === 'Bearer gated-key')
      return json({ error: { message: 'no' } }, 403)(asked, response)
    return json({ error: { message: 'The model `x` does not exist or you have no access to it.' } }, 404)(
      asked,
      response,
    )
  })
  const host = await modelHost(t, [upstream.origin])
  const call = caller(host)
  await host.model('good', { baseUrl: upstream.origin })
  t.match(await host.settled('good', 'DEPLOYED'), { metadata: { url: `${host.url}/default/models/good` } })
  await host.model('wrong', { baseUrl: upstream.origin, spec: { runtime: { type: 'openai', model: 'x' } } })
  t.match(
    JSON.stringify((await host.settled('wrong', 'FAILED'))['events']),
    /has no model .*does not exist or you have no access/,
  )
  await host.connect('gated', {
    integration: 'openai',
    config: { baseUrl: upstream.origin },
    secret: { apiKey: 'gated-key' },
  })
  await host.api('POST', '/models', {
    metadata: { name: 'gated' },
    spec: { integrationConnections: ['gated'], runtime: { type: 'openai', model: 'y' } },
  })
  t.match(JSON.stringify((await host.settled('gated', 'FAILED'))['events']), /answered 403: no/)
  await host.api('POST', '/models', { metadata: { name: 'none' }, spec: { runtime: { type: 'openai', model: 'm' } } })
  t.match(JSON.stringify((await host.settled('none', 'FAILED'))['events']), /names no integration connection/)
  t.match(await call('none'), { status: 503, json: { error: { message: /names no integration connection/ } } })
  await host.model('refused', { baseUrl: 'http://10.1.2.3/v1' })
  t.match(JSON.stringify((await host.settled('refused', 'FAILED'))['events']), /HUTCH_PROVIDERS/)
  await host.connect('refused', { config: { baseUrl: upstream.origin } })
  await host.settled('refused', 'DEPLOYED')
  await host.api('PUT', '/models/good', { spec: { enabled: false, integrationConnections: ['good'] } })
  await host.settled('good', 'DEACTIVATED')
  t.match(await call('good'), { status: 403, json: { error: { code: 'FORBIDDEN', message: /disabled/ } } })
  t.equal((await host.api('GET', '/models/good/revisions')).status, 200)

  await host.model('tests', {
    baseUrl: upstream.origin,
    secret: { apiKey: 'live-key-0123', sandboxApiKey: 'test-key-0123' },
    spec: { sandbox: true },
  })
  upstream.behave(json(chatAnswer('x', used(1, 1))))
  await call('tests')
  t.equal(upstream.asked.at(-1)?.headers.authorization, 'Bearer test-key-0123')
  await host.api('PUT', '/models/tests', {
    spec: { integrationConnections: ['tests'], runtime: { type: 'openai', model: 'm' } },
  })
  await call('tests')
  t.equal(upstream.asked.at(-1)?.headers.authorization, 'Bearer live-key-0123')
})
