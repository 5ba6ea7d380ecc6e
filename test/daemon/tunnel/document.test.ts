import t from 'tap'
import { networkText } from '../../../daemon/tunnel/address.ts'
import { readTunnelDocument } from '../../../daemon/tunnel/document.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const whole = {
  local_ip: '10.9.0.2/32',
  peer_endpoint: '192.0.2.1:51820',
  peer_public_key: key,
  private_key: Buffer.alloc(32, 9).toString('base64'),
}
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
const read = (change: object = {}) => readTunnelDocument(encode({ ...whole, ...change }))

t.test('what is left out has its default', async t => {
  t.match(read(), {
    local: { family: 4, address: '10.9.0.2', prefix: 32 },
    endpoint: { host: '192.0.2.1', port: 51_820 },
    peerKey: Buffer.alloc(32, 7),
    privateKey: Buffer.alloc(32, 9),
    mtu: 1_420,
    listenPort: 51_820,
    interface: 'wg0',
    keepalive: 25,
    routeAll: false,
  })
  t.same(read().allowed.map(networkText), ['0.0.0.0/0'])
  const nothing = { mtu: 0, listen_port: null, interface_name: '', allowed_ips: [], route_all: null }
  t.same(read(nothing), read(), 'and so has what is empty')
  t.equal(read({ persistent_keepalive: 0 }).keepalive, 0, 'but a keepalive of 0 is off')
})

t.test('what is given is taken', async t => {
  const given = read({
    peer_endpoint: '[2001:db8::1]:443',
    mtu: 1_280,
    listen_port: 4_000,
    interface_name: 'tun-a.b_1',
    allowed_ips: ['10.1.2.3/8', '10.0.0.0/8', 'fd00:1:2::5/32', '::ffff:1.2.3.4/96', '::/0'],
    route_all: true,
    unknown: { fields: 'are nothing to us' },
  })
  t.match(given, { endpoint: { host: '2001:db8::1', port: 443 }, mtu: 1_280, listenPort: 4_000, routeAll: true })
  t.equal(given.interface, 'tun-a.b_1')
  t.same(
    given.allowed.map(networkText),
    ['10.0.0.0/8', 'fd00:1:0:0:0:0:0:0/32', '0:0:0:0:0:ffff:0:0/96', '0:0:0:0:0:0:0:0/0'],
    'host bits are cleared, none is there twice',
  )
  t.match(read({ peer_endpoint: 'vpn.example.com:51820' }).endpoint, { host: 'vpn.example.com' })
  t.match(read({ local_ip: 'fd00::2/128' }).local, { family: 6 })
})

t.test('what breaks a rule is refused with the name of its field, and no key is in the text', async t => {
  const refused = (encoded: string, field: RegExp) => {
    try {
      readTunnelDocument(encoded)
      t.fail(`${field} was taken`)
    } catch (error) {
      t.match(error, { code: 'unprocessable', status: 422, message: /^invalid tunnel config: / })
      t.match((error as Error).message, field)
      t.notMatch((error as Error).message, whole.private_key)
    }
  }
  for (const text of ['%%%', 'a', 'YWI', `${encode(whole)}!`]) refused(text, /config: must be base64/)
  refused(Buffer.from('{"local_ip":').toString('base64'), /config: must be JSON/)
  refused(Buffer.from([0x22, 0xff, 0x22]).toString('base64'), /config: must be JSON/)
  for (const value of [[], 'text', 7, null]) refused(encode(value), /config/)
  const cases: Record<string, unknown[]> = {
    local_ip: [undefined, '10.9.0.2', '10.9.0.2/33', '10.9.0.256/24', 'fe80::1%eth0/64', 5],
    peer_endpoint: [
      undefined,
      '192.0.2.1',
      '192.0.2.1:0',
      '192.0.2.1:65536',
      '2001:db8::1:443',
      '[1.2.3.4]:1',
      ':1',
      'a b:1',
    ],
    peer_public_key: [undefined, 'short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')],
    private_key: [undefined, '', key.replace('=', ''), 12],
    mtu: [67, 65_536, 1_420.5, '1420'],
    listen_port: [-1, 65_536],
    interface_name: ['a'.repeat(16), 'eth+', 'a/b', '..', 'a b', 'all', 'default', '%d'],
    allowed_ips: [['10.0.0.0'], ['10.0.0.0/8', 'x'], '10.0.0.0/8', [null]],
    persistent_keepalive: [-1, 65_536, '25'],
    route_all: ['yes', 1],
  }
  for (const [field, values] of Object.entries(cases))
    for (const value of values) refused(encode({ ...whole, [field]: value }), new RegExp(field))
  refused(encode({ ...whole, peer_endpoint: 'vpn.example.com:51820', route_all: true }), /peer_endpoint.*not a name/)
})
