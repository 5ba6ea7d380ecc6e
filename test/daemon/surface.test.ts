import t from 'tap'
import { request } from 'node:http'
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
  t.same(get.headers, { location: '/health?a=1&b=x+y' })
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
