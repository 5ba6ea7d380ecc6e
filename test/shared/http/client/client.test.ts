/** The client against a server of declared routes, and against servers that lie, stall, flood and vanish. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { errors, fail, type ErrorCode } from '../../../../shared/errors.ts'
import type { ClientOptions } from '../../../../shared/http/client/context.ts'
import { createClient } from '../../../../shared/http/client/index.ts'
import { dispatcher, type Surface } from '../../../../shared/http/dispatch.ts'
import { listen } from '../../../../shared/http/listen.ts'
import { serve } from '../../../../shared/http/server.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { silentLog } from '../../../../shared/log.ts'
import { handle, json, reply, route, type Bound } from '../../../../shared/route.ts'
import { flag, intText, s } from '../../../../shared/schema.ts'
import { until } from '../../../support/until.ts'

const echo = route('POST /echo/:name', {
  id: 'echo',
  summary: '',
  params: s.object({ name: s.string() }),
  query: s.object({ loud: flag(), times: intText() }),
  body: s.object({ said: s.string(), more: s.optional(s.int()) }),
  returns: s.object({ name: s.string(), said: s.string(), loud: s.boolean(), times: s.optional(s.int()) }),
})
const upload = route('PUT /upload', {
  id: 'upload',
  summary: '',
  accepts: 'stream',
  returns: s.object({ type: s.string(), text: s.string() }),
})
const ticks = route('GET /ticks', {
  id: 'ticks',
  summary: '',
  events: s.object({ n: s.int(), accept: s.optional(s.string()) }),
  produces: ['application/x-ndjson'],
})
const failing = route('GET /failing/:code', {
  id: 'failing',
  summary: '',
  params: s.object({ code: s.string() }),
  returns: s.object({}),
})
const socket = route('GET /socket', { id: 'socket', summary: '', upgrade: true, query: s.object({ cols: intText() }) })
const headers = route('GET /headers', { id: 'headers', summary: '', returns: s.record(s.string(), s.unknown()) })

/** Details that suit every error. */
const details = { reason: 'because', kind: 'box', name: 'x', headers: ['X-Key'], users: ['y'] }

const bounds: Bound[] = [
  handle(echo, ({ params, query, body }) => ({ name: params.name, said: body.said, ...query })),
  handle(upload, async (_, { request }) => ({
    type: String(request.headers['content-type']),
    text: await text(request.body),
  })),
  handle(ticks, (_, { request }) =>
    reply(200, { 'content-type': 'application/x-ndjson' }, async out => {
      for (let n = 1; n <= 3; n++) out.write(`${JSON.stringify({ n, accept: request.headers['accept'] })}\n`)
    }),
  ),
  handle(failing, ({ params }) => {
    throw fail(params.code as 'forbidden', details as never)
  }),
  handle(headers, (_, { request }) => ({ ...request.headers })),
]

const surface = (renderError: Surface['renderError']): Surface => ({ decoding: 'segments', headers: {}, renderError })
const asSandbox = surface(error => json({ error: error.message }, { status: error.status }))
const asManagement = surface(error =>
  json({ error: error.code, code: error.status, message: error.message }, { status: error.status }),
)

const client = (t: Test, baseUrl: string, options: Partial<ClientOptions> = {}) => {
  const made = createClient({ api: 'management', baseUrl, ...options })
  t.teardown(made.close)
  return made
}

/** A client of a server that answers `bounds`. */
const served = async (t: Test, how: Surface = asManagement, options: Partial<ClientOptions> = {}) => {
  const deps = { log: silentLog, ids: randomIds(), elapsed: () => 0 }
  const made = await listen(serve(dispatcher(bounds, how, deps), { log: silentLog }), { port: 0, host: '127.0.0.1' })
  t.teardown(() => made.close(0))
  return client(t, `http://127.0.0.1:${made.port}`, options)
}

/** A client of a server that answers anything at all. */
const against = async (t: Test, listener: RequestListener, options: Partial<ClientOptions> = {}) => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return client(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`, { name: 'the box', ...options })
}

t.test('parameters, query and body go in, the declared answer comes out', async t => {
  const { ask } = await served(t)
  const input = { params: { name: 'a/b ä' }, query: { loud: true, times: 3 }, body: { said: 'grüße' } }
  t.same(await ask(echo, input), { name: 'a/b ä', said: 'grüße', loud: true, times: 3 })
  t.same(await ask(echo, { params: { name: 'x' }, body: { said: '' } }), { name: 'x', said: '', loud: false })
})

t.test('what a route does not take does not compile', async t => {
  const { ask } = await served(t)
  // @ts-expect-error no parameters
  await t.rejects(ask(echo, { body: { said: '' } }), { code: 'invalid_argument', details: { field: 'name' } })
  // @ts-expect-error a misspelt member of the body
  await t.rejects(ask(echo, { params: { name: 'x' }, body: { sad: '' } }), { code: 'invalid_body' })
  // @ts-expect-error a query of the wrong type
  await t.rejects(ask(echo, { params: { name: 'x' }, query: { times: {} }, body: { said: '' } }), {
    details: { field: 'times' },
  })
  // @ts-expect-error nothing at all
  await t.rejects(ask(echo), { code: 'invalid_argument' })
  const answer: { said: string } = await ask(echo, { params: { name: 'x' }, body: { said: '' } })
  // @ts-expect-error no such member of the answer
  t.equal(answer.sad, undefined)
  await t.rejects(ask(headers, { body: {} }), { code: 'invalid_argument', message: /takes no body/ })
  await t.rejects(ask(echo, { params: { name: 'x' }, form: { file: '' } }), {
    code: 'invalid_argument',
    message: /takes no form/,
  })
})

t.test('bytes, streams, JSON and forms are sent as what they are', async t => {
  const { ask } = await served(t)
  const octets = { type: 'application/octet-stream' }
  t.same(await ask(upload, { body: 'text' }), { ...octets, text: 'text' })
  t.same(await ask(upload, { body: Buffer.from('bytes') }), { ...octets, text: 'bytes' })
  t.same(await ask(upload, { body: Readable.from(['str', 'eam']) }), { ...octets, text: 'stream' })
  t.same(await ask(upload, { body: { a: 1 } }), { type: 'application/json', text: '{"a":1}' })
  const form = await ask(upload, { form: { file: Readable.from(['con', 'tent']), fields: { permissions: '600' } } })
  const boundary = /^multipart\/form-data; boundary=(.+)$/.exec(form.type)?.[1]
  t.ok(boundary)
  const parts = form.text.split(`--${boundary}`)
  t.match(parts[1], /name="permissions"\r\n\r\n600\r\n$/)
  t.match(parts[2], /name="file"; filename=.*\r\n\r\ncontent\r\n$/s)
  t.equal(parts[3], '--\r\n')
})

t.test('a failure is the error it stands for, in the words of the other side', async t => {
  const told = async (how: Surface, code: ErrorCode) => {
    const { ask } = await served(t, how)
    return ask(failing, { params: { code } }).catch((error: unknown) => error)
  }
  for (const code of Object.keys(errors) as ErrorCode[]) {
    if (['invalid_api_version', 'invalid_image'].includes(code)) continue
    const { message } = fail(code, details as never)
    t.match(await told(asManagement, code), { name: 'AppError', code, message, retry: errors[code].retry })
  }
  t.match(await told(asSandbox, 'not_found'), {
    code: 'not_found',
    message: 'box "x" not found',
    details: undefined,
  })
  t.match(await told(asSandbox, 'unprocessable'), { code: 'unprocessable', message: 'because' })
})

t.test('where an answer names no code the route and the status decide', async t => {
  const answers: readonly (readonly [number, string, ErrorCode, string])[] = [
    [404, '{"error":{"code":"WORKLOAD_NOT_FOUND","message":"no box","retryable":false}}', 'not_found', 'no box'],
    [404, '{"error":{"code":"WORKLOAD_UNAVAILABLE","message":"asleep","retryable":true}}', 'unavailable', 'asleep'],
    [404, '{"error":{"code":"WORKLOAD_UNAVAILABLE","message":"off","retryable":false}}', 'not_running', 'off'],
    [502, '{"error":{"code":"UPSTREAM_FAILED","message":"odd","retryable":false}}', 'upstream_malformed', 'odd'],
    [500, '{"error":{"code":"INTERNAL","message":"bug","retryable":true}}', 'unavailable', 'bug'],
    [404, '{"error":"no file"}', 'path_not_found', 'no file'],
    [502, '{"error":{"code":"UPSTREAM_FAILED","message":"no port","retryable":true}}', 'unavailable', 'no port'],
    [409, '{"error":"SANDBOX_ALREADY_EXISTS","code":409,"message":"there"}', 'already_exists', 'there'],
    [429, 'slow down', 'busy', 'slow down'],
    [418, '', 'unprocessable', 'answered 418'],
    [301, '', 'unprocessable', 'answered 301'],
    [599, '<html>', 'operation_failed', '<html>'],
    [500, '{"error":5}', 'operation_failed', '{"error":5}'],
    [500, 'null', 'operation_failed', 'null'],
    [400, '{"error":"__proto__","message":"m"}', 'invalid_argument', 'm'],
    [400, '{"error":"toString","message":"m"}', 'invalid_argument', 'm'],
  ]
  const declared = route('GET /x', { id: 'x', summary: '', errors: ['path_not_found', 'already_exists'] })
  for (const [status, body, code, message] of answers) {
    const { ask } = await against(t, (_, response) => response.writeHead(status).end(body))
    await t.rejects(ask(declared), { code, message }, `${status} ${body}`)
  }
})

t.test('an answer is bounded, and held against its declaration', async t => {
  const declared = route('GET /x', { id: 'x', summary: '', returns: s.object({ a: s.int() }) })
  const says = (body: string, type = 'application/json') =>
    against(t, (_, response) => response.writeHead(200, { 'content-type': type }).end(body), { maxBytes: 100 })
  const bad = async (body: string, message: RegExp, type?: string) => {
    const { ask } = await says(body, type)
    await t.rejects(ask(declared), { code: 'bad_answer', message })
  }
  t.same(await (await says('{"a":1,"b":2}')).ask(declared), { a: 1 }, 'what is not declared is left out')
  t.same(await (await says('{"a":1}', 'application/problem+json; charset=utf-8')).ask(declared), { a: 1 })
  await bad('{"a":"1"}', /^the box answered what cannot be understood: a: must be a number/)
  await bad('[]', /must be an object/)
  await bad('', /must be an object|is missing/)
  await bad('{"a":', /not JSON/)
  await bad(`{"a":1,"b":"${'x'.repeat(100)}"}`, /more than 100 bytes/)
  await bad('hello', /text\/plain instead of JSON/, 'text/plain')
  await bad('{"a":1}', /instead of JSON/, 'application/jsonx')
})

t.test('a flood is left, not swallowed', async t => {
  let sent = 0
  let closed = false
  const { ask } = await against(
    t,
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.on('close', () => (closed = true))
      const pour = () => {
        while (!closed && response.write(Buffer.alloc(65_536, 'x'))) sent += 65_536
      }
      response.on('drain', pour)
      pour()
    },
    { maxBytes: 1024 },
  )
  await t.rejects(ask(headers), { code: 'bad_answer', message: /more than 1024 bytes/ })
  await until(async () => closed, 'the connection to be closed')
  t.ok(sent < 64 * 1024 * 1024)
  const failing = await against(t, (_, response) => {
    response.writeHead(500)
    const pour = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
    }
    response.on('drain', pour)
    pour()
  })
  const error = await failing.ask(headers).catch((error: Error) => error)
  t.match(error, { code: 'operation_failed' })
  t.ok((error as Error).message.length <= 64 * 1024)
})

t.test('time is bounded: to the head, and to the end of JSON', async t => {
  const silent = await against(t, () => {}, { timeoutMs: 50 })
  await t.rejects(silent.ask(headers), { code: 'timed_out', details: { afterMs: 50 } })
  await t.rejects(silent.stream(headers), { code: 'timed_out' })
  await t.rejects(silent.ask(headers, {}, { timeoutMs: 20 }), { code: 'timed_out', details: { afterMs: 20 } })
  const trickle: RequestListener = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(timer))
  }
  const slow = await against(t, trickle, { timeoutMs: 100 })
  await t.rejects(slow.ask(headers), { code: 'timed_out' })
  const streamed = await slow.stream(headers)
  let pieces = 0
  for await (const _ of streamed) if (++pieces === 20) break
  t.equal(pieces, 20, 'a stream may go on for as long as it speaks')
  const hung = await against(t, (_, response) => void response.writeHead(200).write('a'))
  await t.rejects(buffer(await hung.stream(headers, {}, { idleMs: 50 })), { code: 'timed_out' })
})

t.test('a body that is being sent is not late', async t => {
  const { ask } = await served(t, asManagement, { timeoutMs: 2_000 })
  const slowly = async function* () {
    for (let i = 0; i < 12; i++) {
      await new Promise(resolve => setTimeout(resolve, 200))
      yield 'x'
    }
  }
  t.match(await ask(upload, { body: Readable.from(slowly()) }), { text: 'x'.repeat(12) })
  let ended = false
  const source = new Readable({
    read() {},
    destroy(error, done) {
      ended = true
      done(error)
    },
  })
  await t.rejects(ask(upload, { body: source }, { timeoutMs: 50 }), { code: 'timed_out' })
  await until(async () => ended, 'the source to be given up')
  const broken = new Error('the disk is gone')
  const failing = new Readable({ read: () => void failing.destroy(broken) })
  await t.rejects(ask(upload, { body: failing }), broken, 'a source that fails is not the fault of the other side')
  const stalled = new Readable({ read() {} })
  await t.rejects(ask(upload, { form: { file: stalled } }, { timeoutMs: 50 }), { code: 'timed_out' })
  await until(async () => stalled.destroyed, 'the file to be given up')
})

t.test('aborting rejects with its reason, before, meanwhile and within a stream', async t => {
  const reason = new Error('enough')
  const { ask, stream } = await against(t, (request, response) => {
    if (request.url === '/base/ticks') response.writeHead(200).write('a\n')
  })
  await t.rejects(ask(headers, {}, { signal: AbortSignal.abort(reason) }), reason)
  const stop = new AbortController()
  const asking = ask(headers, {}, { signal: stop.signal })
  setImmediate(() => stop.abort(reason))
  await t.rejects(asking, reason)
  const again = new AbortController()
  const lines: string[] = []
  const read = async () => {
    for await (const line of (await stream(ticks, {}, { signal: again.signal })).lines()) {
      lines.push(line)
      again.abort(reason)
    }
  }
  await t.rejects(read(), reason)
  t.same(lines, ['a'])
})

t.test('nobody there, or gone in the middle, is unavailable and may be tried again', async t => {
  const gone = client(t, 'http://127.0.0.1:1', { name: 'the box' })
  await t.rejects(gone.ask(headers), { code: 'unavailable', retry: true, message: /^the box did not answer/ })
  const source = new Readable({ read() {} })
  await t.rejects(gone.ask(upload, { body: source }), { code: 'unavailable' })
  await until(async () => source.destroyed, 'the source to be given up')
  const cut = await against(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{')
    setTimeout(() => response.destroy(), 20)
  })
  await t.rejects(cut.ask(headers), { code: 'unavailable', message: /^the box broke its answer off/ })
  await t.rejects(buffer(await cut.stream(headers)), { code: 'unavailable' })
  const noHttp = await against(t, request => void request.socket.end('hello\r\n\r\n'))
  await t.rejects(noHttp.ask(headers), { code: 'unavailable' })
})

t.test('events are typed and checked, asked for in the way servers know', async t => {
  const { events } = await served(t)
  const all: { n: number; accept?: string | undefined }[] = []
  for await (const event of events(ticks)) all.push(event)
  t.same(
    all,
    [1, 2, 3].map(n => ({ n, accept: 'text/event-stream' })),
  )
  const speaks = async (lines: string, options: Partial<ClientOptions> = {}) => {
    const { events } = await against(t, (_, response) => response.end(lines), options)
    const seen: number[] = []
    for await (const { n } of events(ticks)) seen.push(n)
    return seen
  }
  t.same(await speaks('{"n":1}\n\n{"n":2}'), [1, 2], 'the last line needs no end, empty ones are none')
  await t.rejects(speaks('{"n":1}\n{"n":"2"}\n'), { code: 'bad_answer', message: /n: must be a number/ })
  await t.rejects(speaks('{"n":1\n'), { code: 'bad_answer' })
  await t.rejects(speaks(`{"n":1}${' '.repeat(200)}`, { maxBytes: 100 }), {
    code: 'bad_answer',
    message: /a line of more than 100 bytes/,
  })
  const { events: none } = await served(t)
  await t.rejects(none(headers)[Symbol.asyncIterator]().next(), {
    code: 'invalid_argument',
    message: /streams no events/,
  })
})

t.test('lines are whole, whatever the pieces they come in', async t => {
  const bytes = Buffer.from('a\nzwölf 😀\r\n\nlast')
  const { stream } = await against(t, async (_, response) => {
    for (const byte of bytes) {
      response.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    response.end()
  })
  const lines: string[] = []
  for await (const line of (await stream(ticks)).lines()) lines.push(line)
  t.same(lines, ['a', 'zwölf 😀\r', '', 'last'])
  t.same(await (await stream(ticks)).bytes(), bytes)
  await t.rejects((await stream(ticks)).bytes(5), { code: 'bad_answer', message: /more than 5 bytes/ })
})

t.test('leaving a loop or closing a stream ends the call at the other side', async t => {
  let open = 0
  const { stream, events } = await against(t, (_, response) => {
    open++
    response.on('close', () => open--)
    response.write('{"n":1}\n')
  })
  for await (const { n } of events(ticks)) if (n === 1) break
  await until(async () => open === 0, 'the loop to be noticed')
  const streamed = await stream(ticks)
  t.match(streamed, { status: 200, headers: { 'transfer-encoding': 'chunked' } })
  streamed.close()
  await until(async () => open === 0, 'the close to be noticed')
})

t.test('a status that a route declares is an answer to a stream', async t => {
  const declared = route('GET /x', { id: 'x', summary: '', statuses: { 304: 'Not changed', 416: 'Beyond' } })
  const { stream } = await against(t, (request, response) =>
    response.writeHead(Number(request.headers['x-want'])).end(),
  )
  for (const status of [206, 304])
    t.match(await stream(declared, {}, { headers: { 'x-want': String(status) } }), { status })
  await t.rejects(stream(declared, {}, { headers: { 'X-Want': '416' } }), { code: 'unprocessable' })
})

t.test('a WebSocket is refused, and its address told', async t => {
  const { ask, stream, url } = createClient({ api: 'sandbox', baseUrl: 'https://host/w/sandboxes/a/' })
  await t.rejects(ask(socket), { code: 'upgrade_required', message: /url\(\) tells where/ })
  await t.rejects(stream(socket), { code: 'upgrade_required' })
  t.equal(url(socket, { query: { cols: 80 } }).href, 'wss://host/w/sandboxes/a/socket?cols=80')
  t.equal(url(headers).href, 'https://host/w/sandboxes/a/headers')
})

t.test('credential and headers are sent; those of the connection are refused', async t => {
  const { ask } = await served(t, asManagement, { credential: 'key', headers: { 'X-One': '1', 'X-Two': '1' } })
  const seen = await ask(headers, {}, { headers: { 'x-two': '2' } })
  t.match(seen, { authorization: 'Bearer key', 'x-one': '1', 'x-two': '2' })
  for (const name of ['Connection', 'Transfer-Encoding', 'Host', 'content-length'])
    await t.rejects(ask(headers, {}, { headers: { [name]: 'x' } }), {
      code: 'invalid_argument',
      message: new RegExp(name),
    })
  for (const baseUrl of ['', 'nowhere', 'ftp://host', 'http://host/?a=b', 'http://host/#x'])
    t.throws(() => createClient({ api: 'sandbox', baseUrl }), {
      code: 'invalid_argument',
      details: { field: 'baseUrl' },
    })
})

t.test('closing cuts what is under way', async t => {
  const made = await against(t, () => {})
  const asking = made.ask(headers)
  setImmediate(() => void made.close())
  await t.rejects(asking, { code: 'unavailable' })
})
