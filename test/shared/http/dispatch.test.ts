import t, { type Test } from 'tap'
import { fail } from '../../../shared/errors.ts'
import { call, requestOf } from '../../support/call.ts'
import { dispatcher, type Surface } from '../../../shared/http/dispatch.ts'
import { randomIds } from '../../../shared/ids.ts'
import { jsonLog } from '../../../shared/log.ts'
import { handle, json, reply, route, SocketUpgrade, type Bound } from '../../../shared/route.ts'
import { intText, s } from '../../../shared/schema.ts'

const make = (_t: Test, bounds: readonly Bound[], surface: Partial<Surface> = {}) => {
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void lines.push(line) })
  const made = dispatcher(
    bounds,
    {
      decoding: 'segments',
      headers: { 'x-common': 'yes', 'x-own': 'common' },
      renderError: (error, { route: of, requestId }) =>
        json({ error: error.code, message: error.message, route: of?.id, requestId }, { status: error.status }),
      ...surface,
    },
    { log, ids: randomIds(), elapsed: () => 0 },
  )
  return { made, lines, ask: call.bind(undefined, made) }
}

const echo = handle(
  route('POST /echo/:name', {
    id: 'echo',
    summary: '',
    params: s.object({ name: s.string() }),
    query: s.object({ limit: intText(1, 9) }),
    body: s.object({ a: s.number() }),
    bodyLimit: 100,
    returns: s.object({ name: s.string(), limit: s.optional(s.number()), a: s.number() }),
  }),
  ({ params, query, body }) => ({ ...params, ...query, ...body }),
)

t.test('a request becomes typed input, and what is returned becomes the answer', async t => {
  const { ask } = make(t, [echo], { checkReplies: true })
  const answer = await ask('POST', '/echo/x%2Fy?limit=3&limit=4&other=1', { body: { a: 1, b: 2 } })
  t.match(answer, { status: 200, body: { name: 'x/y', limit: 3, a: 1 }, headers: { 'x-common': 'yes' } })
  t.notOk('b' in answer.body)
  const wrong: [string, unknown, number, RegExp][] = [
    ['/echo/x?limit=no', { a: 1 }, 400, /limit: must be an integer/],
    ['/echo/x', { a: 'no' }, 400, /a: must be a number/],
    ['/echo/x', '{"a"', 400, /not JSON/],
    ['/echo/x', Buffer.from([0x22, 0xff, 0x22]), 400, /not UTF-8/],
    ['/echo/x', undefined, 400, /is missing/],
    ['/echo/x', ' '.repeat(101), 413, /larger than 100 bytes/],
    ['/echo/', { a: 1 }, 404, /no route/],
  ]
  for (const [target, body, status, message] of wrong)
    t.match(await ask('POST', target, { body }), { status, body: { message }, headers: { 'x-common': 'yes' } }, target)
})

t.test('what nobody foresaw is told to the log, and to the caller only by its number', async t => {
  const broken = handle(route('GET /broken', { id: 'broken', summary: '' }), () => {
    throw new Error('the password is 123')
  })
  const { ask, lines } = make(t, [broken])
  const given = await ask('GET', '/broken', { headers: { 'X-Request-Id': 'mine-1' } })
  t.match(given, { status: 500, body: { error: 'internal', requestId: 'mine-1', route: 'broken' } })
  t.notMatch(given.text, /password/)
  t.match(lines.join(''), /"requestId":"mine-1"[^]*the password is 123/)
  for (const odd of ['a b', 'a\nb', 'x'.repeat(200), ''])
    t.not((await ask('GET', '/broken', { headers: { 'x-request-id': odd } })).body.requestId, odd)
})

t.test('a surface sees a request before its route, and says what to answer when there is none', async t => {
  const own = handle(route('GET /own', { id: 'own', summary: '' }), (_, { facts }) =>
    reply(201, { 'x-own': 'own' }, String(facts['who'])),
  )
  const { ask } = make(t, [own], {
    intercept: ({ method }) => (method === 'OPTIONS' ? reply(204) : undefined),
    before: ({ headers }) => {
      if (!headers['authorization']) throw fail('unauthenticated', { reason: 'who are you' })
      return { who: headers['authorization'] }
    },
    unmatched: (_request, methods) => reply(methods.length > 0 ? 405 : 404),
  })
  t.match(await ask('OPTIONS', '/none'), { status: 204, headers: { 'x-common': 'yes' } })
  t.match(await ask('GET', '/own'), { status: 401, body: { route: 'own' } })
  const answer = await ask('GET', '/own', { headers: { Authorization: 'me' } })
  t.match(answer, { status: 201, text: 'me', headers: { 'x-own': 'own', 'x-common': 'yes' } })
  t.equal((await ask('POST', '/own')).status, 405)
  t.equal((await ask('GET', '/none')).status, 404)
})

t.test('an answer of another shape than declared fails where answers are checked', async t => {
  const lies = handle(route('GET /lies', { id: 'lies', summary: '', returns: s.object({ a: s.string() }) }), () =>
    JSON.parse('{"a":1}'),
  )
  t.ok((await make(t, [lies], { checkReplies: true }).ask('GET', '/lies')).status >= 400)
  t.equal((await make(t, [lies]).ask('GET', '/lies')).status, 200)
})

t.test(
  'a caller that is gone is no error of ours; one line per request where asked for, without the query',
  async t => {
    const gone = new AbortController()
    const leaves = handle(route('GET /leaves', { id: 'leaves', summary: '' }), () => {
      gone.abort()
      throw new Error('cut')
    })
    const takes = handle(
      route('GET /takes', { id: 'takes', summary: '', upgrade: true }),
      () => new SocketUpgrade(() => {}),
    )
    const { ask, made, lines } = make(t, [leaves, takes], { logRequests: true })
    t.equal((await ask('GET', '/leaves?token=1', { signal: gone.signal })).status, 499)
    t.match(JSON.parse(lines.at(-1) ?? ''), { level: 'info', status: 499, route: 'leaves', path: '/leaves' })
    const socket = { headers: { connection: 'keep-alive, Upgrade', upgrade: 'WebSocket' } }
    t.ok((await made.dispatch(requestOf('GET', '/takes', socket), new AbortController())) instanceof SocketUpgrade)
    t.match(JSON.parse(lines.at(-1) ?? ''), { status: 101, route: 'takes' })
    await t.rejects(ask('GET', '/takes', socket), /takes the socket over/)
    t.equal((await ask('GET', '/takes')).status, 426, 'only those who ask for it get the socket')
  },
)
