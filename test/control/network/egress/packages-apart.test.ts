/**
 * A registry that does not read a body as one (CL.0) answers what is in it as a request of its own, and the sandbox has chosen that
 * answer. It must never be taken for a package.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { createServer } from 'node:tls'
import t from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { whyNoInternet } from '../../../support/internet/network.ts'
import { parseAnswer, readAll } from '../../../support/internet/sandbox.ts'
import { enterOwnNetwork, shell } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()

const host = 'deb.example'
const address = '203.0.113.77'
const packages = { directory: t.testdir(), hosts: [{ kind: 'debian', host }] as const, maxBytes: 1024 * 1024 }
const internet = await startInternet({ packages })
t.teardown(internet.close)
shell(`ip addr add ${address}/32 dev lo`)
internet.names.table.set(host, [address])
const { egress, world } = internet
for (const one of ['sandbox', 'neighbour']) egress.setPolicy(one, { allowedDomains: [host] })

const answer = (body: string): string =>
  `HTTP/1.1 200 OK\r\nCache-Control: public, max-age=300\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** Who is asked for a package while an answer is owed gives that one first. */
const asked: string[] = []
const server = createServer({ SNICallback: (name, done) => done(null, world.contextFor(name)) }, socket => {
  let owed = ''
  socket.on('error', () => {})
  socket.on('data', piece => {
    const text = piece.toString('latin1')
    // The body, where it comes by itself: its answer is owed already.
    if (text.startsWith('GET /chosen')) return
    asked.push(text.slice(0, text.indexOf('\r\n')))
    if (text.startsWith('POST')) {
      owed = answer('chosen by the sandbox')
      return void socket.write(answer('posted'))
    }
    socket.write(owed + answer('of the registry'))
    owed = ''
  })
}).listen(443, address)
await once(server, 'listening')
t.teardown(() => void server.close())

const open = async (from: typeof internet.sandbox): Promise<Socket> => {
  const tunnel = await from.tunnel(`${host}:443`)
  if ('status' in tunnel) throw new Error(`refused with ${tunnel.status}`)
  return from.tls(tunnel, { servername: host, ca: egress.caCertificate, rejectUnauthorized: true })
}

const file = 'GET /debian/pool/main/a_1.deb HTTP/1.1\r\nHost: deb.example\r\n'

t.test('what carried a body of a sandbox fetches no package', async t => {
  const socket = await open(internet.sandbox)
  const body = 'GET /chosen HTTP/1.1\r\nHost: deb.example\r\n\r\n'
  socket.write(`POST /x HTTP/1.1\r\nHost: deb.example\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  t.match(String((await once(socket, 'data'))[0]), 'posted')
  socket.write(`${file}Connection: close\r\n\r\n`)
  t.match(parseAnswer(await readAll(socket)), { status: 200, body: 'of the registry' })
  const other = await open(internet.neighbour)
  other.write(`${file}Connection: close\r\n\r\n`)
  t.match(parseAnswer(await readAll(other)), { status: 200, body: 'of the registry' })
  t.same(asked, ['POST /x HTTP/1.1', 'GET /debian/pool/main/a_1.deb HTTP/1.1'], 'the second had what the first fetched')
  t.same(internet.errors, [])
})
