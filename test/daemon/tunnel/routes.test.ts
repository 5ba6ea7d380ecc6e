/** The routes of a daemon that shares the machine's network, which it must never touch. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { daemon } from '../../support/daemon.ts'
import { enterOwnNetwork, whyNoTunnels } from '../../support/tunnel-net.ts'

// Should it be touched after all, then not the one of this box.
if (!whyNoTunnels()) enterOwnNetwork()

const key = Buffer.alloc(32, 7).toString('base64')
const document = {
  local_ip: '10.9.0.2/32',
  peer_endpoint: '[2001:db8::1]:51820',
  peer_public_key: key,
  private_key: key,
  persistent_keepalive: 0,
  allowed_ips: ['198.18.0.0/15', 'fd00::/8'],
  extra: 'ignored',
}
const encoded = Buffer.from(JSON.stringify(document)).toString('base64')
const routes = () =>
  readFileSync('/proc/net/route', 'utf8')
    .split('\n')
    .map(line => line.split('\t').slice(0, 3).join(' '))

t.test('bodies, documents and methods', async t => {
  const { call } = await daemon(t)
  const put = (body?: unknown) => call('PUT', '/network/tunnel/config', { body })
  for (const body of [undefined, '', '{', '[]', {}, { config: '' }, { config: 5 }, { config: null }])
    t.match(await put(body), { status: 400, body: { error: /^invalid request body/ } }, JSON.stringify(body))
  t.match(await put({ config: 'not base64!' }), { status: 422, body: { error: /invalid tunnel config/ } })
  const broken = Buffer.from(JSON.stringify({ ...document, mtu: 5 })).toString('base64')
  t.match(await put({ config: broken }), { status: 422, body: { error: /invalid tunnel config: mtu/ } })
  for (const method of ['GET', 'POST']) t.equal((await call(method, '/network/tunnel/config')).status, 404, method)
  t.match(await call('DELETE', '/network/tunnel'), { status: 400, body: { error: /no WireGuard client is running/ } })
})

t.test('a network that is the machine’s is left alone, and the caller told what to do', async t => {
  const before = routes()
  const { call } = await daemon(t)
  const answer = await call('PUT', '/network/tunnel/config', { body: { config: encoded } })
  t.match(answer, {
    status: 500,
    body: { error: /^failed to apply tunnel config: .*(run it in|start its container|install)/ },
  })
  t.notMatch(answer.text, key)
  t.match(await call('DELETE', '/network/tunnel'), { status: 400 })
  t.same(routes(), before)
})

t.test('a document of the environment that cannot be applied does not keep the daemon from starting', async t => {
  const events: string[] = []
  const take = (event: string) => void events.push(event)
  const log = { debug: take, info: take, warn: take, error: take, with: () => log }
  const { call, daemon: made } = await daemon(t, { env: { SVC_NETWORKING_CONFIG: encoded }, log })
  t.equal((await call('GET', '/health')).status, 200)
  t.ok(events.includes('tunnel.start.failed'))
  t.notOk('SVC_NETWORKING_CONFIG' in made.core.environment.all(), 'and no process inherits it')
})
