/** Unmodified clients of providers, through us, to a mock that is not ours. */
import Anthropic from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import { GoogleGenAI } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'
import { CohereClientV2 } from 'cohere-ai'
import Groq from 'groq-sdk'
import OpenAI, { AzureOpenAI } from 'openai'
import t, { type Test } from 'tap'
import { modelHost } from '../../../support/models.ts'
import { until } from '../../../support/until.ts'

t.setTimeout(120_000)

const hello = [{ role: 'user' as const, content: 'hello there' }]
const answer = 'General Kenobi, you are a bold one.'

t.test('unmodified clients', async t => {
  const mock = new LLMock({ port: 0, host: '127.0.0.1' })
  mock.onMessage('hello there', { content: answer })
  mock.onMessage('weather', { toolCalls: [{ name: 'weather', arguments: '{"city":"Paris"}' }] })
  await mock.start()
  t.teardown(() => mock.stop())
  const host = await modelHost(t, [mock.url])
  const { key } = host
  const model = async (name: string, type: string, spec: object = {}, config: object = {}) => {
    const { runtime = {}, ...rest } = spec as { runtime?: object }
    const url = await host.model(name, {
      baseUrl: mock.url,
      config,
      spec: { runtime: { type, model: 'gpt-4o', ...runtime }, ...rest },
    })
    return url
  }
  const counted = async (t: Test, name: string, requests: number) => {
    await until(async () => (await host.usage(name)).summary['requests'] === requests, `${requests} calls of ${name}`)
    const { summary } = await host.usage(name)
    t.match(summary, { errors: 0 })
    t.ok((summary['outputTokens'] ?? 0) > 0 && (summary['inputTokens'] ?? 0) > 0, JSON.stringify(summary))
  }

  await t.test('openai: chat, stream, tools, responses, embeddings, models', async t => {
    const url = await model('openai', 'openai')
    for (const baseURL of [url, `${url}/v1`]) {
      const client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0 })
      const whole = await client.chat.completions.create({ model: 'openai', messages: hello })
      t.equal(whole.choices[0]?.message.content, answer)
      let text = ''
      const stream = await client.chat.completions.create({ model: 'gpt-4o', messages: hello, stream: true })
      // Whoever has not asked for usage never sees a chunk without a choice.
      for await (const chunk of stream)
        text += (chunk.choices[0] as { delta: { content?: string | null } }).delta.content ?? ''
      t.equal(text, answer)
    }
    const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 })
    const asked = await client.chat.completions.create({
      model: 'gpt-4o',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    })
    let usage: unknown
    for await (const chunk of asked) usage = chunk.usage ?? usage
    t.match(usage, { total_tokens: Number })
    const response = await client.responses.create({ model: 'gpt-4o', input: 'hello there' })
    t.equal(response.output_text, answer)
    let said = ''
    for await (const event of await client.responses.create({ model: 'gpt-4o', input: 'hello there', stream: true }))
      if (event.type === 'response.output_text.delta') said += event.delta
    t.equal(said, answer)
    const { data } = await client.embeddings.create({ model: 'text-embedding-3-small', input: 'hello' })
    t.ok((data[0]?.embedding.length ?? 0) > 0)
    await counted(t, 'openai', 8)
  })

  await t.test('anthropic', async t => {
    const url = await model('claude', 'anthropic', { runtime: { model: 'claude-sonnet-4-5' } })
    // With our key where it has its own.
    const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 })
    const params = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: hello }
    const whole = await client.messages.create(params)
    t.match(whole.content[0], { type: 'text', text: answer })
    t.equal(await client.messages.stream(params).finalText(), answer)
    await counted(t, 'claude', 2)
  })

  await t.test('google genai', async t => {
    const url = await model('gemini', 'gemini', { runtime: { model: 'gemini-2.5-flash' } })
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url, apiVersion: 'v1beta' } })
    const params = { model: 'gemini-2.5-flash', contents: 'hello there' }
    t.equal((await client.models.generateContent(params)).text, answer)
    let text = ''
    for await (const chunk of await client.models.generateContentStream(params)) text += chunk.text ?? ''
    t.equal(text, answer)
    await counted(t, 'gemini', 2)
  })

  await t.test('mistral', async t => {
    const url = await model('mistral', 'mistral', { runtime: { model: 'mistral-small-latest' } })
    const client = new Mistral({ apiKey: key, serverURL: url })
    const whole = await client.chat.complete({ model: 'mistral-small-latest', messages: hello })
    t.equal(whole.choices?.[0]?.message?.content, answer)
    let text = ''
    for await (const { data } of await client.chat.stream({ model: 'mistral-small-latest', messages: hello }))
      text += data.choices[0]?.delta.content ?? ''
    t.equal(text, answer)
    await counted(t, 'mistral', 2)
  })

  await t.test('cohere', async t => {
    const url = await model('cohere', 'cohere', { runtime: { model: 'command-a-03-2025' } })
    const client = new CohereClientV2({ token: key, environment: url })
    const whole = await client.chat({ model: 'command-a-03-2025', messages: hello })
    t.match(whole.message.content, [{ type: 'text', text: answer }])
    let text = ''
    for await (const event of await client.chatStream({ model: 'command-a-03-2025', messages: hello }))
      if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? ''
    t.equal(text, answer)
    await counted(t, 'cohere', 2)
  })

  await t.test('groq', async t => {
    await host.model('groq', {
      baseUrl: `${mock.url}/v1`,
      spec: { runtime: { type: 'groq', model: 'llama-3.3-70b-versatile' } },
    })
    const client = new Groq({ apiKey: key, baseURL: `${host.url}/default/models/groq`, maxRetries: 0 })
    const whole = await client.chat.completions.create({ model: 'llama-3.3-70b-versatile', messages: hello })
    t.equal(whole.choices[0]?.message.content, answer)
    await counted(t, 'groq', 1)
  })

  await t.test('azure', async t => {
    const url = await model(
      'azure',
      'azure-openai-service',
      { runtime: { endpointName: 'gpt-4o' } },
      { apiVersion: '2024-10-21' },
    )
    const client = new AzureOpenAI({
      apiKey: key,
      endpoint: url,
      apiVersion: '2024-10-21',
      deployment: 'any',
      maxRetries: 0,
    })
    const whole = await client.chat.completions.create({ model: 'gpt-4o', messages: hello })
    t.equal(whole.choices[0]?.message.content, answer)
    await counted(t, 'azure', 1)
  })

  for (const [type, name] of [
    ['xai', 'grok-4'],
    ['deepseek', 'deepseek-chat'],
    ['cerebras', 'llama-3.3-70b'],
    ['public_model', 'any'],
  ] as const)
    await t.test(`openai's client to ${type}`, async t => {
      const made = type.replace('_', '-')
      await host.model(made, { baseUrl: `${mock.url}/v1`, spec: { runtime: { type, model: name } } })
      const client = new OpenAI({ apiKey: key, baseURL: `${host.url}/default/models/${made}/v1`, maxRetries: 0 })
      const whole = await client.chat.completions.create({ model: name, messages: hello })
      t.equal(whole.choices[0]?.message.content, answer)
      await counted(t, made, 1)
    })

  const tools = [
    {
      type: 'function' as const,
      function: {
        name: 'weather',
        description: 'Tells it',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    },
  ]
  for (const type of ['openai', 'anthropic', 'gemini', 'cohere'])
    await t.test(`openai's client to ${type}, translated`, async t => {
      const name = `mk3-${type}`
      const url = await model(name, type, {
        runtime: { generation: 'mk3', model: type === 'openai' ? 'gpt-4o' : `${type}-model` },
      })
      const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 })
      const whole = await client.chat.completions.create({
        model: name,
        messages: [{ role: 'system', content: 'Be brief.' }, ...hello],
      })
      t.match(whole.choices[0], { message: { role: 'assistant', content: answer }, finish_reason: 'stop' })
      t.match(whole.usage, { prompt_tokens: Number, completion_tokens: Number })
      let text = ''
      let usage: unknown
      let finish: unknown
      const stream = await client.chat.completions.create({
        model: name,
        messages: hello,
        stream: true,
        stream_options: { include_usage: true },
      })
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        finish = chunk.choices[0]?.finish_reason ?? finish
        usage = chunk.usage ?? usage
      }
      t.equal(text, answer)
      t.equal(finish, 'stop')
      t.match(usage, { total_tokens: Number })
      const asking = { model: name, messages: [{ role: 'user' as const, content: 'weather' }], tools }
      const called = await client.chat.completions.create(asking)
      t.match(called.choices[0], {
        finish_reason: 'tool_calls',
        message: { tool_calls: [{ type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } }] },
      })
      let given = ''
      for await (const chunk of await client.chat.completions.create({ ...asking, stream: true }))
        given += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? ''
      t.equal(given, '{"city":"Paris"}')
      if (type !== 'openai')
        await t.rejects(
          client.chat.completions.create({ model: name, messages: hello, logprobs: true }),
          /400.*logprobs/s,
        )
      await counted(t, name, 4)
    })
})
