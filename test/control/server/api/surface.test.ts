import { request } from 'node:http'
import t from 'tap'
import { listen } from '../../../../shared/http/listen.ts'
import { serve } from '../../../../shared/http/server.ts'
import { silentLog } from '../../../../shared/log.ts'
import { control } from '../../../support/control.ts'

t.test('versions: none is the oldest, unknown ones are refused with the list', async t => {
  const { call } = await control(t)
  const at = (version: string) => call('GET', '/sandboxes', undefined, { headers: { 'svc-version': version } })
  t.same((await at('')).body, [], 'a bare array')
  t.same((await at('2026-04-16')).body, [])
  t.match((await at('2026-04-28')).body, { data: [], meta: { hasMore: false, nextCursor: '', total: 0 } })
  for (const version of ['2026-04-20', '2026-04-28.preview', 'x', '2027-01-01']) {
    const { status, body } = await at(version)
    t.match(body, { error: 'invalid_api_version', code: 400, message: /2026-04-16, 2026-04-28/ })
    t.ok(body.message.includes(version))
    t.equal(status, 400)
  }
  const onCreate = { headers: { 'svc-version': 'x' } }
  t.match((await call('POST', '/sandboxes', {}, onCreate)).body, { error: 'invalid_api_version', code: 400 })
})

t.test('CORS: preflight without credentials, origin on every answer', async t => {
  const { call } = await control(t)
  const asked = await call('OPTIONS', '/sandboxes', undefined, { headers: { authorization: '' } })
  t.match(asked, { status: 204, headers: { 'access-control-allow-origin': '*' } })
  t.match(asked.headers['access-control-allow-headers'], /x-svc-authorization.*x-svc-workspace.*svc-version/)
  const allowed = (asked.headers['access-control-allow-headers'] ?? '').split(', ')
  const sent = ['authorization', 'content-type', 'accept', 'cache-control', 'user-agent', 'x-stainless-retry-count']
  t.same(
    sent.filter(name => !allowed.includes(name)),
    [],
    'what clients send',
  )
  t.match((await call('GET', '/sandboxes')).headers, { 'access-control-allow-origin': '*' })
  t.match((await call('GET', '/sandboxes/none')).headers, { 'access-control-allow-origin': '*' })
})

t.test('unknown paths and methods are JSON with a numeric code', async t => {
  const { call } = await control(t)
  for (const path of ['/nothing', '/sandboxes/a/b/c', '/', '/sandboxes/%', '/sandboxes/%E0%A4%A'])
    t.match(
      await call('GET', path),
      { status: 404, body: { error: 'route_not_found', code: 404, message: String } },
      path,
    )
  const { status, headers, body } = await call('PATCH', '/sandboxes/a')
  t.equal(status, 405)
  t.same(headers['allow']?.split(', ').toSorted(), ['DELETE', 'GET', 'PUT'])
  t.match(body, { error: 'method_not_allowed', code: 405 })
})

t.test('a final conflict says so to clients that repeat every 409', async t => {
  const { call } = await control(t)
  await call('POST', '/sandboxes', { metadata: { name: 'a' } })
  const conflict = await call('POST', '/sandboxes', { metadata: { name: 'a' } })
  t.match(conflict, { status: 409, headers: { 'x-should-retry': 'false' } })
  t.match(conflict.body, {
    error: 'SANDBOX_ALREADY_EXISTS',
    code: 409,
    status_code: 409,
    sandbox_name: 'a',
    workspace: 'default',
    message: String,
    step: String,
    timestamp: '2026-01-01T00:00:00.000Z',
  })
})

t.test('the account of the key is listed', async t => {
  const { call } = await control(t)
  t.match(await call('GET', '/accounts'), { status: 200, body: [{ id: 'default', metadata: { id: 'default' } }] })
})

/** Sends the head and `bytes` of a body that never ends; resolves with the status that comes all the same. */
const unfinished = (port: number, headers: Record<string, string | number>, bytes: number) =>
  new Promise<number>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/v0/sandboxes', headers })
    sent.on('response', response => {
      resolve(response.statusCode ?? 0)
      sent.destroy()
    })
    sent.on('error', reject)
    sent.flushHeaders()
    if (bytes > 0) sent.write(Buffer.alloc(bytes, 'x'))
  })

t.test('a body beyond the limit is refused before it has all come', async t => {
  const { api, key, store } = await control(t)
  const listening = await listen(serve(api, { log: silentLog }), { port: 0, host: '127.0.0.1' })
  t.teardown(() => listening.close(100))
  const { port } = listening
  const authorization = `Bearer ${key}`
  t.equal(await unfinished(port, { authorization, 'content-length': 10 * 1024 * 1024 }, 0), 413, 'announced')
  t.equal(await unfinished(port, { authorization }, 5 * 1024 * 1024 + 1), 413, 'chunked')
  t.equal(await unfinished(port, { 'content-length': 10 * 1024 * 1024 }, 0), 401, 'from a stranger not even looked at')
  t.equal(await store.resources.count('sandbox', 'default'), 0)
})
