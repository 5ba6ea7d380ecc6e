import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { authority, checkAddress, publicUrlOf } from '../../../control/base/listening.ts'

t.test('an address that can be had, and can still be had after the look', async t => {
  await checkAddress({ host: '127.0.0.1', port: 0 })
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await t.rejects(checkAddress({ host: '127.0.0.1', port }), {
    code: 'unavailable',
    message: `cannot listen on 127.0.0.1:${port} (EADDRINUSE); another program listens there: end it, or set HUTCH_PORT to another port`,
  })
  server.close()
  await once(server, 'close')
  await checkAddress({ host: '127.0.0.1', port })
  await checkAddress({ host: '127.0.0.1', port })
})

t.test('an address of another machine', async t => {
  await t.rejects(checkAddress({ host: '192.0.2.1', port: 0 }), {
    message: /192\.0\.2\.1:0 \(EADDRNOTAVAIL\).*HUTCH_HOST/,
  })
})

t.test('addresses in URLs, and what they mean', async t => {
  t.equal(authority({ host: '::1', port: 80 }), '[::1]:80')
})

const v4 = (address: string, internal = false) => ({
  address,
  internal,
  family: 'IPv4' as const,
  netmask: '',
  mac: '',
  cidr: null,
})
const v6 = (address: string) => ({ ...v4(address), family: 'IPv6' as const, scopeid: 0 })

t.test('addresses of sandboxes begin with something that works', async t => {
  const interfaces = {
    lo: [v4('127.0.0.1', true)],
    'h0a1b2c3d-1': [v4('10.89.0.0')],
    docker0: [v4('172.17.0.1')],
    eth0: [v6('fe80::1'), v6('2001:db8::7'), v4('192.168.1.7')],
  }
  const url = (host: string, publicUrl = '') => publicUrlOf({ host, publicUrl }, 8080, interfaces)
  t.equal(url('127.0.0.1'), 'http://127.0.0.1:8080')
  t.equal(url('0.0.0.0'), 'http://192.168.1.7:8080')
  t.equal(url('::'), 'http://192.168.1.7:8080')
  t.equal(url('0:0:0:0:0:0:0:0'), 'http://192.168.1.7:8080')
  t.equal(url('::1'), 'http://[::1]:8080')
  t.equal(url('0.0.0.0', 'https://hutch.example.com'), 'https://hutch.example.com')
  t.equal(publicUrlOf({ host: '0.0.0.0', publicUrl: '' }, 1, { eth0: [v6('2001:db8::7')] }), 'http://[2001:db8::7]:1')
  t.equal(publicUrlOf({ host: '0.0.0.0', publicUrl: '' }, 1, {}), 'http://127.0.0.1:1')
})
