/** Programs that take their time before they say anything, as they do on a busy box. */
import t from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { ask, readAll } from '../../../support/internet/sandbox.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()
const internet = await startInternet()
t.teardown(internet.close)
const { sandbox, egress, reached } = internet
const longer = () => new Promise(resolve => setTimeout(resolve, 1_000))
const request = (host: string, path: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

const lateTunnel = async (place: string) => {
  const tunnel = await sandbox.tunnel(place)
  if ('status' in tunnel) throw new Error(`refused: ${tunnel.status}`)
  await longer()
  return tunnel
}

t.test('a late hello is a hello', async t => {
  const routing = [{ destinations: ['api.example', 'single.example'], headers: { 'x-key': 'put in' } }]
  egress.setPolicy('sandbox', { allowedDomains: ['open.example', 'api.example'], routing: routing.slice(0, 1) })
  for (const host of ['open.example', 'api.example']) {
    const socket = await sandbox.tls(await lateTunnel(`${host}:443`), { servername: host })
    const answer = await ask(socket, request(host, '/late'))
    t.match(answer, { status: 200 }, host)
    t.equal(answer.body.includes('put in'), host === 'api.example')
  }
  egress.setPolicy('sandbox', {})
  const other = await sandbox.tls(await lateTunnel('single.example:8443'), { servername: 'single.example' })
  t.match(await ask(other, request('single.example', '/other-port')), { status: 200 }, 'to a port that may speak first')
  const plain = await lateTunnel('open.example:8080')
  t.match(await ask(plain, request('open.example', '/plain')), { status: 200 })
  const dialled = await sandbox.dial(addresses.single, 8443)
  await longer()
  const direct = await sandbox.tls(dialled, { servername: 'single.example' })
  t.match(await ask(direct, request('single.example', '/direct')), { status: 200 }, 'and past the proxy')
})

t.test('and is held to its names like any other', async t => {
  egress.setPolicy('sandbox', { allowedDomains: ['single.example', 'mail.example'] })
  await sandbox.resolve('single.example')
  const say = async (host: string, port: number, servername: string) => {
    const socket = await sandbox.dial(host, port)
    await longer()
    const secured = await sandbox.tls(socket, { servername })
    if (!secured.destroyed) await ask(secured, request(servername, '/lie'))
  }
  await say(addresses.single, 8443, 'evil.example')
  await say(addresses.single, 7000, 'evil.example')
  const tunnel = await lateTunnel('single.example:7000')
  await ask(tunnel, request('evil.example', '/lie'))
  t.same(reached('/lie'), [])
  t.same(reached('evil.example'), [])
})

t.test('a server that speaks first is heard, and what follows is no TLS', async t => {
  egress.setPolicy('sandbox', { allowedDomains: ['mail.example'] })
  const mail = await lateTunnel('mail.example:25')
  mail.write('HELO token-of-mail\r\n')
  t.match(await readAll(mail), '220 mail\r\nHELO token-of-mail')
  const other = await lateTunnel('mail.example:25')
  await ask(other, request('mail.example', '/after-the-banner'))
  t.same(reached('after-the-banner'), [])
  t.same(internet.errors, [])
})
