/** Each way in which a call can end, in each dialect: what is written down, once, and what the client reads. */
import { request } from 'node:http'
import t from 'tap'
import { dialects, type DialectSample } from '../../../support/model-dialects.ts'
import { events, json, modelUpstream, used, type Behaviour } from '../../../support/model-upstream.ts'
import { modelHost } from '../../../support/models.ts'
import { until } from '../../../support/until.ts'

t.setTimeout(200_000)

const words = Array.from({ length: 40 }, (_, at) => ` word${at}`)

interface Read {
  readonly status: number
  readonly text: string
  /** The answer ended as HTTP says that it does. */
  readonly isWhole: boolean
}

/** Reads an answer, `leaveAfter` bytes of it where that is given. */
const read = (url: string, key: string, body: object, leaveAfter = Infinity): Promise<Read> =>
  new Promise((done, failed) => {
    const asked = request(
      url,
      { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } },
      answer => {
        let text = ''
        const end = (isWhole: boolean) => done({ status: answer.statusCode ?? 0, text, isWhole })
        answer.setEncoding('utf8')
        answer.on('data', (piece: string) => {
          text += piece
          if (text.length > leaveAfter) asked.destroy()
        })
        answer.on('end', () => end(answer.complete))
        answer.on('error', () => end(false))
        answer.on('close', () => end(answer.complete))
      },
    )
    asked.on('error', error => (asked.destroyed ? undefined : failed(error)))
    asked.end(JSON.stringify(body))
  })

t.test('what calls have used', async t => {
  const upstream = await modelUpstream(t, json({}))
  const host = await modelHost(t, [upstream.origin])
  let made = 0
  /** One call of a new model; what it answered and what was written down. */
  const call = async (
    sample: DialectSample,
    behaviour: Behaviour,
    more: { stream?: boolean; leaveAfter?: number } = {},
  ) => {
    const { stream = false, leaveAfter } = more
    const name = `m${++made}`
    const { type, path, streamPath = path } = sample
    const url = await host.model(name, { baseUrl: upstream.origin, spec: { runtime: { type, model: 'm' } } })
    upstream.behave(behaviour)
    const body = stream && !sample.streamPath ? { ...sample.body, stream } : sample.body
    const answer = await read(`${url}${stream ? streamPath : path}`, host.key, body, leaveAfter)
    await until(async () => (await host.usage(name)).summary['requests'] === 1, `a call of ${name} (${sample.name})`)
    return { ...answer, used: (await host.usage(name)).summary, asked: upstream.asked.at(-1), name }
  }

  for (const sample of dialects)
    await t.test(sample.name, async t => {
      await t.test('whole, with usage', async t => {
        const body = sample.whole('Hello there.', [11, 7])
        const { used, text, status } = await call(sample, json(body))
        t.equal(status, 200)
        t.equal(text, JSON.stringify(body), 'byte for byte')
        t.match(used, { inputTokens: 11, outputTokens: 7, totalTokens: 18, estimated: false, errors: 0 })
      })
      await t.test('whole, without', async t => {
        const { used } = await call(sample, json(sample.whole('Hello there, this is a longer answer.')))
        t.match(used, { estimated: true, errors: 0 })
        t.ok((used['inputTokens'] ?? 0) > 2 && (used['inputTokens'] ?? 0) < 40, `${used['inputTokens']} in`)
        t.ok((used['outputTokens'] ?? 0) > 4 && (used['outputTokens'] ?? 0) < 20, `${used['outputTokens']} out`)
      })
      await t.test('a stream, with usage', async t => {
        const frames = sample.events(words, [12, 40])
        const { used, text, isWhole } = await call(sample, events(frames), { stream: true })
        t.match(used, { inputTokens: 12, outputTokens: 40, estimated: false, errors: 0 })
        t.ok(isWhole)
        const told = sample.name === 'chat completions' ? frames.filter(one => !one.includes('"choices":[]')) : frames
        t.equal(text, told.join(''), 'byte for byte')
      })
      await t.test('a stream, without', async t => {
        const { used, isWhole } = await call(sample, events(sample.events(words)), { stream: true })
        t.ok(isWhole)
        t.match(used, { estimated: true, errors: 0 })
        t.ok((used['outputTokens'] ?? 0) >= 40, `${used['outputTokens']}`)
      })
      await t.test('usage of zero although text came', async t => {
        const { used } = await call(sample, events(sample.events(words, [0, 0])), { stream: true })
        t.match(used, { estimated: true })
        t.ok((used['outputTokens'] ?? 0) >= 40 && (used['inputTokens'] ?? 0) > 0)
      })
      await t.test('the client leaves before the usage', async t => {
        const slow = events(sample.events(words, [12, 40]), { betweenMs: 10 })
        const left = upstream.left()
        const { used } = await call(sample, slow, { stream: true, leaveAfter: 900 })
        t.match(used, { estimated: true, errors: 0 })
        t.ok((used['outputTokens'] ?? 0) > 0 && (used['outputTokens'] ?? 0) < 60, `${used['outputTokens']}`)
        await until(() => upstream.left() > left, 'the provider to be left')
      })
      await t.test('the provider dies in mid-stream', async t => {
        const dies: Behaviour = async (asked, response) => {
          const frames = sample.events(words, [12, 40])
          await events(frames.slice(0, 10), { end: false })(asked, response)
          response.socket?.destroy()
        }
        const { used, text, isWhole } = await call(sample, dies, { stream: true })
        t.match(text, sample.error, 'the client reads an error')
        t.notOk(isWhole, 'and no clean end')
        t.match(used, { errors: 1, estimated: true })
      })
      await t.test('a proxy between ends the stream cleanly', async t => {
        const short = events(sample.events(words, [12, 40]).slice(0, 10))
        const { used, text, isWhole } = await call(sample, short, { stream: true })
        t.match(text, sample.error)
        t.notOk(isWhole)
        t.match(used, { errors: 1 })
      })
      await t.test('letters cut in two, events in odd pieces, and what is no JSON', async t => {
        const odd: Behaviour = async (_asked, response) => {
          const bytes = Buffer.from(
            [...sample.events([' grün', ' 😀', ...words], [5, 42])]
              .join('')
              .replace('\n\n', '\n\ndata: {nonsense\n\n: comment\n\n'),
          )
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          for (let at = 0; at < bytes.length; at += 37) {
            response.write(bytes.subarray(at, at + 37))
            await new Promise(resolve => setImmediate(resolve))
          }
          response.end()
        }
        const { used, text } = await call(sample, odd, { stream: true })
        t.match(text, /grün.* 😀/s)
        t.match(text, /data: \{nonsense/)
        t.match(used, { inputTokens: 5, outputTokens: 42, estimated: false })
      })
    })

  const [chat] = dialects as [DialectSample]

  await t.test('cached and reasoning tokens', async t => {
    const usage = {
      ...used(100, 50),
      prompt_tokens_details: { cached_tokens: 80 },
      completion_tokens_details: { reasoning_tokens: 30 },
    }
    const { used: told } = await call(chat, json({ ...chat.whole('x'), usage }))
    t.match(told, { inputTokens: 100, outputTokens: 50, cachedTokens: 80, reasoningTokens: 30 })
    const anthropic = dialects.find(one => one.type === 'anthropic') as DialectSample
    const cached = { input_tokens: 10, cache_read_input_tokens: 90, cache_creation_input_tokens: 5, output_tokens: 3 }
    t.match((await call(anthropic, json({ ...anthropic.whole('x'), usage: cached }))).used, {
      inputTokens: 105,
      cachedTokens: 90,
    })
    const gemini = dialects.find(one => one.type === 'gemini') as DialectSample
    const thought = { promptTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: 6 }
    t.match((await call(gemini, json({ ...gemini.whole('x'), usageMetadata: thought }))).used, {
      outputTokens: 10,
      reasoningTokens: 6,
    })
  })

  await t.test('embeddings', async t => {
    const data = Array.from({ length: 900 }, (_, index) => ({
      index,
      embedding: Array.from({ length: 1000 }, () => -0.0123456789),
    }))
    const body = { object: 'list', data, model: 'e', usage: { prompt_tokens: 8, total_tokens: 8 } }
    const { used, text } = await call(
      { ...chat, path: '/v1/embeddings', body: { model: 'e', input: 'a text' } },
      json(body),
    )
    t.ok(text.length > 8 * 1024 * 1024)
    t.match(used, { inputTokens: 8, outputTokens: 0, estimated: false })
  })

  await t.test('what the provider refuses passes as it is, and is an error', async t => {
    for (const status of [400, 429, 529]) {
      const body = { error: { message: `no: ${status}` } }
      const answer = await call(chat, json(body, status, { 'retry-after': '7' }))
      t.equal(answer.status, status)
      t.equal(answer.text, JSON.stringify(body))
      t.match(answer.used, { requests: 1, errors: 1, totalTokens: 0 })
    }
  })

  await t.test('by key, over time, and between two times', async t => {
    const { name } = await call(chat, json(chat.whole('x', [3, 4])))
    const byKey = await host.usage(name, '?groupBy=key&resolution=hourly')
    t.match(byKey.data, [
      { key: String, keyName: String, inputTokens: 3, timeseries: [{ timestamp: /Z$/, outputTokens: 4 }] },
    ])
    t.match((await host.usage(name, '?groupBy=model&resolution=daily')).data, [{ model: name, totalTokens: 7 }])
    t.match((await host.usage(name, '?startTime=2020-01-01T00:00:00Z&endTime=2020-01-02T00:00:00Z')).summary, {
      requests: 0,
    })
    for (const query of [
      'startTime=soon',
      'groupBy=day',
      'resolution=weekly',
      'startTime=2030-01-01',
      'startTime=1990-01-01',
    ])
      t.match(
        await host.api('GET', `/models/${name}/usage?${query}`),
        { status: 400, body: { message: /^(startTime|groupBy|resolution)/ } },
        query,
      )
    t.equal((await host.api('GET', '/models/nobody/usage')).status, 404)
    const { text } = await host.api('GET', '/metrics')
    t.match(text, new RegExp(`hutch_model_tokens_total\\{.*model="${name}".*direction="output"\\} 4`))
  })
})
