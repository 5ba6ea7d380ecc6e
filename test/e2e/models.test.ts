/** The first day with a model: an unmodified client of OpenAI's, a provider that misbehaves, a limit, another provider. */
import OpenAI from 'openai'
import t from 'tap'
import { chatAnswer, chatEvents, events, json, modelUpstream, used } from '../support/model-upstream.ts'
import { modelHost, secretKey } from '../support/models.ts'
import { until } from '../support/until.ts'

t.setTimeout(120_000)

const words = Array.from({ length: 50 }, (_, at) => ` word${at}`)
const messages = [{ role: 'user' as const, content: 'Count to fifty.' }]

t.test('a model, as a client uses it', async t => {
  const upstream = await modelUpstream(t, events(chatEvents(words, used(9, 50)), { betweenMs: 5 }))
  const other = await modelUpstream(t, json(chatAnswer('from the other one', used(4, 5))))
  const host = await modelHost(t, [upstream.origin, other.origin])
  const clientOf = (baseURL: string) => new OpenAI({ apiKey: host.key, baseURL, maxRetries: 0 })
  const recorded = async (name: string, requests: number) => {
    await until(async () => (await host.usage(name)).summary['requests'] === requests, `${requests} calls of ${name}`)
    return host.usage(name)
  }

  await t.test('a client that breaks off after three chunks is counted once, by an estimate', async t => {
    const client = clientOf(await host.model('early', { baseUrl: `${upstream.origin}/v1` }))
    let seen = 0
    for await (const _chunk of await client.chat.completions.create({ model: 'early', messages, stream: true }))
      if (++seen === 3) break
    const { summary, data } = await recorded('early', 1)
    t.match(summary, { requests: 1, estimated: true })
    t.ok((summary['outputTokens'] ?? 0) > 0 && (summary['outputTokens'] ?? 0) < 50, `${summary['outputTokens']}`)
    t.equal(data.length, 1)
    await until(() => upstream.left() === 1, 'the provider to be left')
    const asked = upstream.asked.at(-1)
    t.match(JSON.parse(String(asked?.body)), { model: 'm', messages, stream: true })
    t.equal(asked?.headers.authorization, `Bearer ${secretKey}`)
    t.equal(asked?.url, '/v1/chat/completions')
  })

  await t.test('a provider that is killed in mid-stream is an error to the client', async t => {
    const client = clientOf(await host.model('killed', { baseUrl: `${upstream.origin}/v1` }))
    let seen = 0
    const reading = async () => {
      for await (const _chunk of await client.chat.completions.create({ model: 'm', messages, stream: true }))
        if (++seen === 5) upstream.kill()
    }
    await t.rejects(reading(), /the provider ended/)
    t.ok(seen < 50)
    t.match((await recorded('killed', 1)).summary, { requests: 1, errors: 1, estimated: true })
  })

  await t.test('the call that crosses a limit of 1,000 tokens completes, the next one is refused', async t => {
    const maxTokens = { granularity: 'hour', step: 1, total: 1000 }
    await host.api('POST', '/policies', { metadata: { name: 'thousand' }, spec: { type: 'maxToken', maxTokens } })
    const baseURL = await host.model('limited', { baseUrl: `${upstream.origin}/v1`, spec: { policies: ['thousand'] } })
    const client = clientOf(baseURL)
    const call = () => client.chat.completions.create({ model: 'm', messages })
    upstream.behave(json(chatAnswer('long', used(100, 800))))
    await call()
    const crossing = await call()
    t.equal(crossing.usage?.total_tokens, 900, 'the crossing call completes')
    const refused = await call().then(
      () => undefined,
      (error: unknown) => error,
    )
    t.ok(refused instanceof OpenAI.RateLimitError)
    t.match(refused, { status: 429, message: /policy "thousand"/ })
    const after = Number((refused as { headers?: Headers }).headers?.get('retry-after'))
    t.ok(after > 3000 && after <= 3700, `${after}`)
    t.match((await recorded('limited', 2)).summary, { totalTokens: 1800, estimatedTokens: 0 })
  })

  await t.test('a connection that leads to another server takes its model along', async t => {
    upstream.behave(json(chatAnswer('from the first one', used(1, 2))))
    const client = clientOf(await host.model('moved', { baseUrl: `${upstream.origin}/v1` }))
    const answer = async () =>
      (await client.chat.completions.create({ model: 'moved', messages })).choices[0]?.message.content
    t.equal(await answer(), 'from the first one')
    await host.connect('moved', { config: { baseUrl: `${other.origin}/v1` } })
    t.equal(await answer(), 'from the other one')
    t.equal(other.asked.at(-1)?.headers.authorization, `Bearer ${secretKey}`)
    t.match((await recorded('moved', 2)).summary, { inputTokens: 5, outputTokens: 7, estimatedTokens: 0, errors: 0 })
  })
})
