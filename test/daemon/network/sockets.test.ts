import t from 'tap'
import { addressOf, parseSockets, readSockets } from '../../../daemon/network/sockets.ts'

const heading = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'

t.test('addresses are read as the kernel prints them', async t => {
  t.equal(addressOf('0100007F'), '127.0.0.1')
  t.equal(addressOf('00000000'), '0.0.0.0')
  t.equal(addressOf('00000000000000000000000000000000'), '::')
  t.equal(addressOf('00000000000000000000000001000000'), '::1')
  t.equal(addressOf('0000000000000000FFFF00000100007F'), '::ffff:127.0.0.1')
  t.equal(addressOf('B80D0120000000000000000001000000'), '2001:db8::1')
})

t.test("gVisor's table, whose columns are wider", async t => {
  const row =
    '   6: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0        7 2 0000000000000000 0 0 0 0 -1'
  t.match(parseSockets('tcp', heading + row), [{ localAddr: '0.0.0.0', localPort: 3000, state: 'LISTEN', inode: '7' }])
})

t.test('a table becomes sockets, states spelt as ss spells them', async t => {
  const rows = [
    '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18742 1 0000000000000000 100 0 0 10 0',
    '   1: 0200000A:C35A 08080808:01BB 01 00000000:00000000 02:000A 00000000  1000        0 4026 2 0000000000000000',
    ' 102: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 99 2 0000000000000000 0',
    'garbage',
    '   3: 0200000A:0016 08080808:01BB 06 00000000:00000000 03:00000A4C 00000000     0        0 0 3 0000000000000000',
  ]
  const sockets = parseSockets('tcp', `${heading}${rows.join('\n')}\n`)
  t.same(sockets, [
    {
      protocol: 'tcp',
      localAddr: '127.0.0.1',
      localPort: 8080,
      remoteAddr: '0.0.0.0',
      remotePort: 0,
      state: 'LISTEN',
      inode: '18742',
    },
    {
      protocol: 'tcp',
      localAddr: '10.0.0.2',
      localPort: 50010,
      remoteAddr: '8.8.8.8',
      remotePort: 443,
      state: 'ESTAB',
      inode: '4026',
    },
    {
      protocol: 'tcp',
      localAddr: '0.0.0.0',
      localPort: 53,
      remoteAddr: '0.0.0.0',
      remotePort: 0,
      state: 'UNCONN',
      inode: '99',
    },
    {
      protocol: 'tcp',
      localAddr: '10.0.0.2',
      localPort: 22,
      remoteAddr: '8.8.8.8',
      remotePort: 443,
      state: 'TIME-WAIT',
      inode: '0',
    },
  ])
})

t.test('a system without tables is told apart from one without sockets', async t => {
  const proc = t.testdir({ net: { tcp: heading } })
  t.same(await readSockets(proc), [])
  t.equal(await readSockets(`${proc}/none`), undefined)
})
