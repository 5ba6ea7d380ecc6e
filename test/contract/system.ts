/** Sections 1.1 to 1.5 and 1.15 of the per-sandbox API: headers, OPTIONS, HEAD, redirects, health, docs, environment. */
import type { Test } from 'tap'
import { ask, type Target } from './target.ts'

const routed = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, PUT, DELETE, HEAD, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization',
  'cache-control': 'no-cache, no-store, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
  'x-content-type-options': 'nosniff',
}

const heads = [
  '/filesystem/no/such',
  '/filesystem-find/x',
  '/filesystem-search/x',
  '/filesystem-content-search/x',
  '/watch/filesystem/x',
  '/filesystem-multipart',
  '/filesystem-multipart/none/parts',
  '/process',
  '/process/none',
  '/process/none/logs',
  '/process/none/logs/stream',
  '/network/process/1/ports',
  '/codegen/reranking/x',
  '/terminal',
  '/terminal/ws',
  '/upgrade',
  '/health',
  '/drives/mount',
]

const unknown: readonly (readonly [string, string])[] = [
  ['GET', '/no-such-route'],
  ['POST', '/health'],
  ['PATCH', '/process'],
  ['GET', '/upgrade'],
  ['DELETE', '/mcp'],
  ['GET', '/network/tunnel'],
  ['POST', '/filesystem/x'],
  ['GET', '/process/x/exec'],
  ['GET', '/ws/terminal'],
]

export const system = async (t: Test, target: Target): Promise<void> => {
  await t.test('every routed answer carries the headers, errors too', async t => {
    for (const path of ['/health', '/process', '/process/no-such', '/filesystem/no-such-file'])
      t.match((await ask(target, 'GET', path)).headers, routed, path)
    t.match((await ask(target, 'GET', '/health')).headers, { 'content-type': /^application\/json/ })
  })

  await t.test('OPTIONS is 204 everywhere, known or not', async t => {
    for (const path of ['/', '/health', '/filesystem/%2Ftmp', '/no-such-route']) {
      const { status, text, headers } = await ask(target, 'OPTIONS', path)
      t.equal(status, 204, path)
      t.equal(text, '')
      t.match(headers, { 'access-control-allow-origin': '*', 'access-control-allow-methods': /PUT/ })
    }
  })

  await t.test('HEAD says that a route is there and looks nothing up', async t => {
    for (const path of heads) {
      const { status, text } = await ask(target, 'HEAD', path)
      t.same([status, text], [200, ''], path)
    }
    t.equal((await ask(target, 'HEAD', '/mcp')).status, 404)
  })

  await t.test('a slash too many or too few redirects', async t => {
    const get = await ask(target, 'GET', '/process/')
    t.equal(get.status, 301)
    t.match(get.headers.location, /\/process$/)
    t.equal(get.headers['access-control-allow-origin'], undefined, 'redirects carry no CORS headers')
    t.equal((await ask(target, 'POST', '/process/', { body: {} })).status, 307)
    const list = await ask(target, 'GET', '/filesystem')
    t.equal(list.status, 301)
    t.match(list.headers.location, /\/filesystem\/$/)
  })

  await t.test('what is no route is 404 in plain text, wrong methods too', async t => {
    for (const [method, path] of unknown) {
      const { status, headers, text } = await ask(target, method, path)
      t.equal(status, 404, `${method} ${path}`)
      t.match(headers['content-type'], /^text\/plain/)
      t.not(text, '')
    }
  })

  await t.test('the root welcomes with any method', async t => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])
      t.match(await ask(target, method, '/'), {
        status: 200,
        body: { message: String, documentation: String, description: String },
      })
  })

  await t.test('health has every field', async t => {
    const { status, body } = await ask(target, 'GET', '/health')
    t.equal(status, 200)
    t.match(body, {
      status: 'ok',
      version: String,
      gitCommit: String,
      buildTime: String,
      goVersion: String,
      os: 'linux',
      arch: /^(amd64|arm64)$/,
      uptime: /^(\d+h)?(\d+m)?\d+s$/,
      uptimeSeconds: Number,
      upgradeCount: Number,
      startedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/,
      lastUpgrade: { status: 'idle', step: 'none', version: '' },
    })
  })

  await t.test('the documentation is a page and a Swagger 2.0 document', async t => {
    const first = await ask(target, 'GET', '/swagger')
    t.equal(first.status, 301)
    t.match(first.headers.location, /\/swagger\/index\.html$/)
    t.match(await ask(target, 'GET', '/swagger/index.html'), {
      status: 200,
      headers: { 'content-type': /^text\/html/ },
    })
    t.match((await ask(target, 'GET', '/swagger/doc.json')).body, { swagger: '2.0', paths: { '/process': {} } })
  })

  await t.test('errors are one field of text', async t => {
    const { status, body } = await ask(target, 'POST', '/process', { body: 'not json' })
    t.equal(status, 400)
    t.same(Object.keys(body), ['error'])
    t.match(body.error, /^invalid request body/)
    t.match((await ask(target, 'POST', '/process')).body.error, /^invalid request body/, 'an empty body')
    t.match((await ask(target, 'POST', '/process', { body: { command: 5 } })).body.error, /^invalid request body/)
  })

  await t.test('reloading without a metadata document is 404', async t => {
    t.match(await ask(target, 'POST', '/environment/reload'), { status: 404, body: { error: String } })
  })

  await t.test('headers of clients and identities change nothing', async t => {
    const headers = {
      'x-svc-workspace': 'main',
      'x-svc-subject-id': 'somebody',
      'x-svc-auth-method': 'api-key',
      'x-request-id': 'r-1',
      'svc-version': '2026-04-28',
      'user-agent': 'client/1.0',
    }
    t.match(await ask(target, 'GET', '/health', { headers }), { status: 200, body: { status: 'ok' } })
  })
}
