/** Whoever wants a credential, another address or another's limits. */
import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { jsonLog } from '../../../../shared/log.ts'
import { chatAnswer, chatEvents, events, json, modelUpstream, used } from '../../../support/model-upstream.ts'
import { modelHost, secretKey } from '../../../support/models.ts'

t.setTimeout(120_000)

/** Sends bytes as they are, and reads what comes. */
const raw = async (url: string, head: readonly string[], body = ''): Promise<string> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n${body}`)
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
  await once(socket, 'close')
  return text
}

t.test('credentials stay where they belong', async t => {
  const lines: string[] = []
  const log = jsonLog({ level: 'debug', now: () => 0, write: line => void lines.push(line) })
  const upstream = await modelUpstream(t, json(chatAnswer('x', used(1, 1))))
  const host = await modelHost(t, [upstream.origin], { log })
  const url = await host.model('m', { baseUrl: upstream.origin })
  const target = new URL(url).pathname
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
  const send = (more: readonly string[], path = '/v1/chat/completions', text = body) =>
    raw(
      url,
      [
        `POST ${target}${path} HTTP/1.1`,
        'Host: x',
        `Content-Length: ${text.length}`,
        'Content-Type: application/json',
        ...more,
      ],
      text,
    )

  await t.test("the caller's credential and our headers never leave", async t => {
    await send(
      [
        `X-Svc-Authorization: Bearer ${host.key}`,
        'Authorization: Bearer sk-left-in-place',
        `X_Svc_Authorization: Bearer ${host.key}`,
        `x-api-key: ${host.key}`,
        `x_api_key: ${host.key}`,
        `api-key: ${host.key}`,
        `x-goog-api-key: ${host.key}`,
        `Cookie: svc=${host.key}`,
        'X-Svc-Workspace: default',
        'Svc-Version: 2026-04-28',
        'X-Forwarded-For: 10.0.0.1',
        'Connection: x-stainless-lang',
        'X-Stainless-Lang: js',
        'OpenAI-Organization: org-mine',
        'anthropic-beta: kept',
      ],
      `/v1/chat/completions?key=${host.key}&access_token=${host.key}&a=1`,
    )
    const asked = upstream.asked.at(-1)
    const said = `${asked?.url}\n${asked?.rawHeaders.join('\n')}\n${String(asked?.body)}`
    t.notMatch(said, host.key)
    t.notMatch(said, /svc|sk-left|forwarded|cookie|x[-_]api|stainless|org-mine/i)
    t.equal(asked?.url, '/v1/chat/completions?a=1')
    t.equal(asked?.headers.authorization, `Bearer ${secretKey}`)
    t.equal(asked?.headers['anthropic-beta'], 'kept')
    t.equal(asked?.headers.host, new URL(upstream.origin).host)
    t.equal(asked?.rawHeaders.filter(name => name.toLowerCase() === 'authorization').length, 1)
  })

  await t.test("the connection's never comes back, however it is said", async t => {
    const auth = [`Authorization: Bearer ${host.key}`]
    const echo = { authorization: `Bearer ${secretKey}`, 'x-echo': secretKey }
    upstream.behave(json({ error: { message: `Incorrect API key provided: ${secretKey}.` } }, 401, echo))
    const refused = await send(auth)
    t.match(refused, /^HTTP\/1.1 401/)
    t.match(refused, /provided: \*+\./)
    t.notMatch(refused, secretKey)
    upstream.behave(async (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(`{"choices":[],"a":"${secretKey.slice(0, 9)}`)
      await new Promise(resolve => setTimeout(resolve, 30))
      response.end(`${secretKey.slice(9)}"}`)
    })
    const split = await send(auth)
    t.match(split, /\*{20}/, 'cut in two it is found too')
    t.notMatch(split, secretKey.slice(9))
    upstream.behave(events(chatEvents([`the key is ${secretKey}`], used(1, 1))))
    const stream = await send(auth, '/v1/chat/completions', JSON.stringify({ ...JSON.parse(body), stream: true }))
    t.match(stream, /the key is \*+/)
    t.notMatch(stream, secretKey)
  })

  await t.test('and stands in no log, no event and no record', async t => {
    await host.connect('m', { config: { baseUrl: 'http://127.0.0.1:1' } })
    await send([`Authorization: Bearer ${host.key}`])
    await host.api('PUT', '/models/m', {
      spec: { integrationConnections: ['m'], runtime: { type: 'openai', model: 'z' } },
    })
    await host.settled('m', 'FAILED')
    const all = [
      lines.join('\n'),
      (await host.api('GET', '/models/m')).text,
      (await host.api('GET', '/integrations/connections/m')).text,
      (await host.api('GET', '/metrics')).text,
    ]
    for (const text of all) t.notMatch(text, secretKey)
    t.notMatch(lines.join('\n'), host.key)
  })
})

t.test('who may call', async t => {
  const upstream = await modelUpstream(t, json(chatAnswer('x', used(1, 1))))
  const host = await modelHost(t, [upstream.origin])
  const url = await host.model('m', { baseUrl: upstream.origin })
  const call = async (headers: Record<string, string>, path = '/v1/chat/completions', more: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: '{}', ...more })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  t.equal((await call({})).status, 401)
  t.equal((await call({ authorization: 'Bearer nonsense' })).status, 401)
  t.equal((await call({ 'x-api-key': 'nonsense' })).status, 401)
  t.equal((await call({ 'x-api-key': host.key })).status, 200, "a client's own header brings our key")
  t.equal((await call({ authorization: 'Bearer nonsense', 'x-api-key': host.key })).status, 401, 'where ours has none')
  const key = { authorization: `Bearer ${host.key}` }
  t.equal((await fetch(`${host.url}/default/models/nobody/v1/models`, { headers: key })).status, 404)
  t.equal((await call(key, '/port/80/x')).status, 404)
  for (const path of ['/v1/..%2fadmin', '/v1/%2e%2e/admin', '/v1/a%5c..'])
    t.equal(
      (
        await raw(url, [`GET ${new URL(url).pathname}${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${host.key}`])
      ).split(' ')[1],
      path.includes('%2f') ? '200' : '400',
      path,
    )
  t.equal(
    (await fetch(url, { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST', origin: 'http://x' } }))
      .status,
    204,
  )
})

t.test('addresses that no connection leads to', async t => {
  const inside = await modelUpstream(t, json(chatAnswer('secret of the inside')))
  const host = await modelHost(t, [])
  const { port } = new URL(inside.origin)
  const bases = [
    inside.origin,
    `http://localhost:${port}`,
    `https://localhost:${port}`,
    `https://127.0.0.1:${port}`,
    `https://[::1]:${port}`,
    `https://[::ffff:127.0.0.1]:${port}`,
    `https://2130706433:${port}`,
    'https://169.254.169.254/latest',
    'https://10.0.0.1',
    'https://0.0.0.0',
    'http://example.com/v1',
    'file:///etc/passwd',
    'https://user:pass@example.com',
    'https://example.com/v1?x=1',
    'gopher://example.com',
  ]
  for (const [at, baseUrl] of bases.entries()) {
    const url = await host.model(`m${at}`, { baseUrl })
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${host.key}`, 'content-type': 'application/json' },
      body: '{"messages":[]}',
    })
    const text = await answer.text()
    t.ok([400, 502, 503].includes(answer.status), `${baseUrl}: ${answer.status} ${text}`)
    t.match(text, /baseUrl|public|HUTCH_PROVIDERS/, baseUrl)
    await host.settled(`m${at}`, 'FAILED')
  }
  t.equal(inside.asked.length, 0, 'nobody inside was asked')
})

t.test('a metadata service, though it is listed', async t => {
  const listed = await modelHost(t, ['http://169.254.169.254'])
  await listed.model('cloud', { baseUrl: 'http://169.254.169.254' })
  t.match(JSON.stringify((await listed.settled('cloud', 'FAILED'))['events']), /where clouds keep credentials/)
})

t.test('a body that is too large, and one of 40 MB', async t => {
  const upstream = await modelUpstream(t, (asked, response) => json({ length: asked.body.length })(asked, response))
  const host = await modelHost(t, [upstream.origin])
  const url = await host.model('m', { baseUrl: upstream.origin })
  const send = async (bytes: number, type: string) => {
    const answer = await fetch(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${host.key}`, 'content-type': type },
      body: Buffer.alloc(bytes, 32),
    })
    return { status: answer.status, text: await answer.text() }
  }
  for (const type of ['application/json', 'multipart/form-data; boundary=x']) {
    t.same(await send(40 * 1024 * 1024, type), { status: 200, text: `{"length":${40 * 1024 * 1024}}` }, type)
    t.equal((await send(51 * 1024 * 1024, type)).status, 413, type)
  }
})
