/** Section 1.11: the tunnel's configuration. */
import type { Test } from 'tap'
import { ask, type Target } from './target.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
const key = Buffer.alloc(32, 7).toString('base64')
const tunnel = {
  local_ip: '10.9.0.2/32',
  peer_endpoint: '192.0.2.1:51820',
  peer_public_key: key,
  private_key: key,
  interface_name: 'wgcontract',
  allowed_ips: ['10.9.0.0/24'],
  extra: 'ignored',
}

const bad: readonly (readonly [string, Record<string, unknown>])[] = [
  ['no address', { ...tunnel, local_ip: '' }],
  ['no CIDR', { ...tunnel, local_ip: 'ten' }],
  ['endpoint without port', { ...tunnel, peer_endpoint: '192.0.2.1' }],
  ['short key', { ...tunnel, private_key: 'AAAA' }],
  ['no peer key', { ...tunnel, peer_public_key: undefined }],
  ['mtu', { ...tunnel, mtu: 67 }],
  ['allowed', { ...tunnel, allowed_ips: ['x'] }],
  ['name behind everything', { ...tunnel, peer_endpoint: 'host.example:1', route_all: true }],
]

export const tunnels = async (t: Test, target: Target): Promise<void> => {
  await t.test('a tunnel that cannot be', async t => {
    const put = (config: string) => ask(target, 'PUT', '/network/tunnel/config', { body: { config } })
    t.equal((await ask(target, 'PUT', '/network/tunnel/config')).status, 400)
    t.equal((await put('')).status, 400)
    for (const config of ['not base64!', Buffer.from('no json').toString('base64')])
      t.match(await put(config), { status: 422, body: { error: /invalid tunnel config/ } })
    for (const [what, config] of bad)
      t.match(await put(encode(config)), { status: 422, body: { error: /invalid tunnel config/ } }, what)
    t.equal((await ask(target, 'POST', '/network/tunnel/config', { body: { config: '' } })).status, 404)
    t.match(await ask(target, 'DELETE', '/network/tunnel'), {
      status: 400,
      body: { error: /no WireGuard client is running/ },
    })
  })

  if (!target.ownNetwork) return
  await t.test('a tunnel that can be, where the kernel has one', async t => {
    const put = () => ask(target, 'PUT', '/network/tunnel/config', { body: { config: encode(tunnel) } })
    for (const attempt of ['first', 'again']) {
      const { status, body } = await put()
      if (status === 500) {
        t.match(body.error, /failed to apply tunnel config/)
        return
      }
      t.match({ status, body }, { status: 200, body: { message: /updated/ } }, attempt)
    }
    t.match(await ask(target, 'DELETE', '/network/tunnel'), { status: 200, body: { message: /disconnected/ } })
    t.equal((await ask(target, 'DELETE', '/network/tunnel')).status, 400, 'there is none any more')
    t.match(await put(), { status: 200 })
    t.equal((await ask(target, 'DELETE', '/network/tunnel')).status, 200)
  })
}
