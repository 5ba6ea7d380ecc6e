/** Streams and sockets to a workload end when the credential that opened them does. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import { systemClock } from '../../../../../shared/clock.ts'
import { browser, tokensOf } from '../../../../support/sign-in.ts'
import { testHost, type HostOptions } from '../../../../support/whole-host.ts'

/** A workload that answers a little, and goes on; what of it still goes on. */
const endless = async (t: Test) => {
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer((_, response) => void response.write('begun'))
  server.on('upgrade', (asked, socket, head) =>
    sockets.handleUpgrade(asked, socket, head, client => client.send('begun')),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { host: '127.0.0.1', port, close: () => server.closeAllConnections() }
}

const ready = async (t: Test, options: HostOptions = {}) => {
  const made = await testHost(t, { ...options, serve: () => endless(t) })
  const { url } = await made.host.listen()
  const spec = { runtime: { image: 'busybox' } }
  t.equal((await made.api('POST', '/sandboxes', { metadata: { name: 'web' }, spec })).status, 200)
  const base = `${url}/default/sandboxes/web`
  /** Opens it, and answers when it has ended. */
  const stream = async (path: string, headers: Record<string, string>) => {
    const { body, status } = await fetch(path, { headers })
    t.equal(status, 200, path)
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    const ended = reader.read().then(
      () => 'an end like any other',
      () => 'cut',
    )
    return { ended, cancel: () => reader.cancel() }
  }
  const socket = async (path: string, headers: Record<string, string>) => {
    const opened = new WebSocket(path.replace('http', 'ws'), { headers })
    opened.on('error', () => {})
    await once(opened, 'message')
    return { ended: once(opened, 'close').then(([code]) => code), socket: opened }
  }
  const key = async () => (await made.api('POST', '/api_keys', {})).body as { id: string; apiKey: string }
  return { ...made, url, base, stream, socket, key }
}

t.test('a key that is revoked takes its streams and sockets along, here or in another process', async t => {
  const { api, base, stream, socket, key, dataDir, url } = await ready(t)
  const [mine, theirs, kept] = [await key(), await key(), await key()]
  const by = ({ apiKey }: { apiKey: string }) => ({ authorization: `Bearer ${apiKey}` })
  const others = [await stream(`${base}/a`, by(kept)), await stream(`${base}/a`, by(theirs))] as const
  const lasting = await socket(`${base}/ws`, by(kept))
  const login = await fetch(`${url}/_hutch/login`, {
    method: 'POST',
    headers: { accept: 'text/html' },
    redirect: 'manual',
    body: new URLSearchParams({ key: mine.apiKey, to: '/default/sandboxes/web/terminal' }),
  })
  const cookie = (login.headers.get('set-cookie') ?? '').split(';', 1)[0] as string
  const all = [
    (await stream(`${base}/a`, by(mine))).ended,
    (await socket(`${base}/ws`, by(mine))).ended,
    (await socket(`${base}/terminal/ws?token=${mine.apiKey}`, {})).ended,
    (await socket(`${base}/terminal/ws`, { cookie, origin: url })).ended,
  ]
  await api('DELETE', `/api_keys/${mine.id}`)
  t.same(await Promise.all(all), ['cut', 1006, 1006, 1006])

  const elsewhere = new Database(join(dataDir, 'hutch.db'))
  elsewhere.prepare('DELETE FROM api_keys WHERE id = ?').run(theirs.id)
  elsewhere.close()
  t.equal(await others[1].ended, 'cut', 'as the command does it')
  t.equal(lasting.socket.readyState, WebSocket.OPEN, 'those of other keys go on')
  t.equal(await Promise.race([others[0].ended, Promise.resolve('goes on')]), 'goes on')
  lasting.socket.terminate()
  await others[0].cancel()
})

t.test(
  'so do those of tokens: with the account, with the person’s place in the workspace, with their time',
  async t => {
    let later = 0
    const real = systemClock()
    const { api, url, stream } = await ready(t, { clock: { ...real, now: () => real.now() + later } })
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
      // oxlint-disable-next-line typescript/no-explicit-any
      return { status: answer.status, body: (await answer.json()) as any }
    }
    await api('POST', '/workspaces', { name: 'other' })
    await api('POST', '/sandboxes?workspace=other', {
      metadata: { name: 'web' },
      spec: { runtime: { image: 'busybox' } },
    })
    const bob = { email: 'bob@example.com', name: 'Bob', password: 'another long password' }
    for (const workspace of ['default', 'other']) {
      const { link } = (await api('POST', `/users?workspace=${workspace}`, { email: bob.email })).body
      t.equal((await browser(url).open(link, bob)).status, 200)
    }
    const { client_id, client_secret } = (await api('POST', '/service_accounts?workspace=default', { name: 'ci' })).body
    const grant = { grant_type: 'client_credentials', client_id, client_secret }
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    const his = bearer((await tokensOf({ url, post }, bob)).access_token)
    const itsOwn = bearer((await post('/v0/oauth/token', grant)).body.access_token)
    const [here, there, byAccount] = [
      await stream(`${url}/default/sandboxes/web/a`, his),
      await stream(`${url}/other/sandboxes/web/a`, his),
      await stream(`${url}/default/sandboxes/web/a`, itsOwn),
    ]
    await api('DELETE', `/service_accounts/${client_id}?workspace=default`)
    t.equal(await byAccount.ended, 'cut')
    await api('DELETE', `/users/${bob.email}?workspace=default`)
    t.equal(await here.ended, 'cut')
    t.equal(await Promise.race([there.ended, Promise.resolve('goes on')]), 'goes on', 'where he still is')
    later = 2 * 3_600_000 + 1_000
    t.equal(await there.ended, 'cut', 'his token is over')
  },
)

t.test('a preview that is deleted, or made private, and a token that is, take theirs along', async t => {
  const { api, url, stream } = await ready(t)
  const { port } = await endless(t)
  const preview = async (name: string, isPublic: boolean) => {
    const spec = { port, public: isPublic }
    const { body } = await api('POST', '/sandboxes/web/previews', { metadata: { name }, spec })
    return body.spec.url as string
  }
  const [closed, open, gone] = [
    await preview('closed', false),
    await preview('open', true),
    await preview('gone', true),
  ]
  const token = (await api('POST', '/sandboxes/web/previews/closed/tokens', { metadata: { name: 'guest' }, spec: {} }))
    .body.spec.token as string
  const [byToken, toOpen, toGone] = [
    await stream(`${closed}/`, { 'x-svc-preview-token': token }),
    await stream(`${open}/`, {}),
    await stream(`${gone}/`, {}),
  ]
  t.ok(closed.startsWith(url))
  await api('DELETE', `/sandboxes/web/previews/closed/tokens/${token}`)
  t.equal(await byToken.ended, 'cut')
  await api('DELETE', '/sandboxes/web/previews/gone')
  t.equal(await toGone.ended, 'cut')
  t.equal(await Promise.race([toOpen.ended, Promise.resolve('goes on')]), 'goes on')
  await api('PUT', '/sandboxes/web/previews/open', { metadata: { name: 'open' }, spec: { port, public: false } })
  t.equal(await toOpen.ended, 'cut')
})
