/** An engine whose host reaches the internet through another proxy. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()

t.test('all that is allowed goes through it, by the address that was judged', async t => {
  const port = 3128
  const internet = await startInternet({ proxy: { host: '127.0.0.1', port }, allowNetworks: ['10.0.0.0/8'] })
  t.teardown(internet.close)
  const asked: string[] = []
  const proxy = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', piece => {
      const [, host = '', to = ''] = /^CONNECT (\S+):(\d+) /.exec(piece.toString()) ?? []
      asked.push(`${host}:${to}`)
      const server = connect(Number(to), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(server).pipe(socket)
      })
      server.on('error', () => socket.destroy())
    })
  })
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  internet.egress.setPolicy('sandbox', { allowedDomains: ['open.example', addresses.private] })
  const { sandbox } = internet
  t.match(await sandbox.get('http://open.example/plain'), { status: 200 })
  t.same(asked, [`${addresses.cdn}:80`])
  const tunnel = await sandbox.tunnel('open.example:443')
  t.notOk('status' in tunnel, 'a tunnel')
  t.equal(asked.length, 2)
  t.match(await sandbox.get('http://evil.example/'), { status: 403 })
  t.match(await sandbox.get(`http://${addresses.private}/`), { status: 200 }, 'opened by the operator: not through it')
  t.equal(asked.length, 2)
  if ('destroy' in tunnel) tunnel.destroy()
})
