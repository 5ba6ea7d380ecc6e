import t from 'tap'
import { request } from 'node:http'
import { jsonLog } from '../../shared/log.ts'
import { daemon, daemonServer } from '../support/daemon.ts'

const common = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, PUT, DELETE, HEAD, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization',
  'cache-control': 'no-cache, no-store, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
  'x-content-type-options': 'nosniff',
}

t.test('every answer of a route carries the common headers, an error too', async t => {
  const { call } = await daemon(t)
  for (const target of ['/health', '/', '/nowhere']) t.match((await call('GET', target)).headers, common, target)
  t.match((await call('POST', '/environment/reload')).headers, common)
})

t.test('OPTIONS answers 204 anywhere, before any route is looked at', async t => {
  const { call } = await daemon(t)
  for (const target of ['/', '/health', '/nowhere', '//x//']) {
    const { status, text, headers } = await call('OPTIONS', target)
    t.equal(status, 204, target)
    t.equal(text, '')
    t.match(headers, common)
  }
})

t.test('HEAD says whether a route exists and looks nothing up', async t => {
  const { call } = await daemon(t)
  const there = ['/health', '/upgrade', '/process', '/process/12', '/filesystem/%2Fno%2Fsuch', '/drives/mount']
  for (const target of there) {
    const { status, text } = await call('HEAD', target)
    t.equal(status, 200, target)
    t.equal(text, '')
  }
  for (const target of ['/', '/nowhere', '/environment/reload'])
    t.equal((await call('HEAD', target)).status, 404, target)
})

t.test('a slash too many or too few is a redirect that keeps the query and carries no common header', async t => {
  const { call } = await daemon(t)
  const get = await call('GET', '/health/?a=1&b=x%20y')
  t.equal(get.status, 301)
  t.same(get.headers, { location: '/health?a=1&b=x%20y' })
  t.same((await call('GET', '/process%2F?a')).headers, { location: '/process?a' }, 'a slash may be encoded')
  t.same((await call('GET', '/process%2F%25/logs/')).headers, { location: '/process%2F%25/logs' })
  const post = await call('POST', '/environment/reload/')
  t.equal(post.status, 307)
  t.same(post.headers, { location: '/environment/reload' })
  t.same((await call('HEAD', '/filesystem')).headers, { location: '/filesystem/' })
})

t.test('an unknown route or method is 404 in plain text', async t => {
  const { call } = await daemon(t)
  for (const [method, target] of [
    ['GET', '/nowhere'],
    ['GET', '//health'],
    ['DELETE', '/health'],
    ['GET', '/%00'],
    ['GET', '/%zz'],
    ['BREW', '/health'],
  ] as const) {
    const { status, headers, text } = await call(method, target)
    t.equal(status, 404, `${method} ${target}`)
    t.match(headers['content-type'], /^text\/plain/)
    t.not(text, '')
  }
})

t.test('errors are an object with a text', async t => {
  const { call } = await daemon(t)
  const { status, body, headers } = await call('POST', '/environment/reload')
  t.equal(status, 404)
  t.same(Object.keys(body), ['error'])
  t.match(headers['content-type'], /^application\/json/)
})

t.test('Server-Timing is sent when asked for', async t => {
  const plain = await daemon(t)
  t.notOk((await plain.call('GET', '/health')).headers['server-timing'])
  await plain.close()
  const timed = await daemon(t, { env: { ENABLE_PROCESSING_TIME: 'true' } })
  t.match((await timed.call('GET', '/health')).headers['server-timing'], /^total;dur=\d+\.\d\d;desc=".+"$/)
})

t.test('over a socket: HEAD has no body, a redirect can be followed', async t => {
  const { url, port } = await daemonServer(t)
  const followed = await fetch(`${url}/health/`)
  t.equal(followed.status, 200)
  t.match(await followed.json(), { status: 'ok' })
  const status = await new Promise((resolve, reject) => {
    const probe = request({ port, host: '127.0.0.1', method: 'HEAD', path: '/filesystem/none' }, answer => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode))
    })
    probe.once('error', reject)
    probe.end()
  })
  t.equal(status, 200)
})

t.test('the access log has the address as it was sent, without its secrets', async t => {
  const lines: Record<string, unknown>[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void lines.push(JSON.parse(line)) })
  const { call } = await daemon(t, { log })
  const access = () => lines.filter(({ source }) => source === 'access')
  await call('GET', '/health?x=a%20b&Token=s3cret&y&svc_preview_token=s3cret&%70assword=s3cret', {
    headers: { 'x-request-id': 'abc-1', 'x-svc-authorization': 'Bearer s3cret', 'svc-version': '1990-01-01' },
  })
  const [line] = access()
  t.match(line, {
    event: 'request.done',
    source: 'access',
    method: 'GET',
    path: '/health?x=a%20b&Token=[REDACTED]&y&svc_preview_token=[REDACTED]&%70assword=[REDACTED]',
    route: 'system.health',
    status: 200,
    requestId: 'abc-1',
  })
  t.notMatch(JSON.stringify(lines), /s3cret/)
  const { headers } = await call('GET', '/health', { headers: { 'x-request-id': 'a\r\nb' } })
  t.match(access()[1]?.['requestId'], /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  t.notOk('x-request-id' in headers, 'nothing is echoed')
})

t.test('requests are not logged when that is switched off', async t => {
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void lines.push(line) })
  const { call } = await daemon(t, { log, env: { DISABLE_REQUEST_LOGGING: 'true' } })
  await call('GET', '/health')
  t.notMatch(lines.join(''), /request\.done/)
})

t.test('an address that speaks WebSocket tells a plain request so, as errors are told', async t => {
  const { call } = await daemon(t)
  for (const headers of [{}, { connection: 'Upgrade', upgrade: 'h2c' }, { upgrade: 'websocket' }]) {
    const answer = await call('GET', '/terminal/ws', { headers })
    t.equal(answer.status, 426)
    t.match(answer.headers, { ...common, upgrade: 'websocket', connection: 'upgrade, close' })
    t.same(answer.body, { error: 'this address speaks WebSocket only' })
  }
})
