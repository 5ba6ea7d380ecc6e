/** Connections to a host: what is asked on one, in which order, however it is cut into pieces. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { raw } from '../../support/raw.ts'
import { testHost } from '../../support/whole-host.ts'
import { tlsPlace } from '../../support/tls-place.ts'

const longBytes = 2 * 1024 * 1024 + 5

/** A host with a sandbox that tells what it was asked. */
const served = async (t: Test, isSecure: boolean) => {
  const upstream = createServer((request, response) => {
    void buffer(request).then(body => {
      const { method, url = '' } = request
      if (!url.startsWith('/long')) return response.end(`${method} ${url} ${body.length} ${body.subarray(0, 9)}`)
      response.setHeader('content-length', longBytes)
      return response.end('y'.repeat(longBytes))
    })
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const { port } = upstream.address() as AddressInfo
  const tls = isSecure ? tlsPlace() : undefined
  const made = await testHost(t, {
    ...(tls && { config: { tls: tls.config } }),
    serve: async () => ({ host: '127.0.0.1', port, close: () => {} }),
  })
  const listening = await made.host.listen()
  await made.api('POST', '/sandboxes', { metadata: { name: 'web' }, spec: { runtime: { image: 'busybox' } } })
  await made.until('web', 'DEPLOYED')
  const credential = `Authorization: Bearer ${made.host.first.adminKey}\r\n`
  const head = (line: string, fields = '') => `${line} HTTP/1.1\r\nHost: x\r\n${credential}${fields}\r\n`
  const at = (method: string, path: string, fields = '') => head(`${method} /default/sandboxes/web${path}`, fields)
  return { ...made, port: tls ? tls.at(listening.port) : listening.port, head, at }
}

const bodies = (text: string): string[] =>
  text.split('HTTP/1.1 ').flatMap(part => (part.includes('\r\n\r\n') ? [part.slice(part.indexOf('\r\n\r\n') + 4)] : []))

/** A case of plain HTTP and of HTTPS: what the connection is read from must make no difference. */
const both = (name: string, run: (t: Test, isSecure: boolean) => Promise<void>): void => {
  for (const isSecure of [false, true]) void t.test(isSecure ? `${name}, by TLS` : name, t => run(t, isSecure))
}

both('requests of all surfaces follow each other on one connection, answered in order', async (t, isSecure) => {
  const { port, head, at } = await served(t, isSecure)
  const connection = await raw(t, port)
  connection.send(
    at('GET', '/one') +
      head('GET /v0/sandboxes/web') +
      `${at('POST', '/two', 'Content-Length: 3\r\n')}abc` +
      head('GET /nowhere') +
      `${head('POST /v0/sandboxes', 'Content-Length: 2\r\nContent-Type: application/json\r\n')}[]` +
      `${at('PUT', '/three', 'Content-Length: 0\r\n')}` +
      at('GET', '/four', 'Connection: close\r\n'),
  )
  const text = await connection.ended
  t.same(
    text.match(/HTTP\/1\.1 \d+/g),
    ['200', '200', '200', '404', '400', '200', '200'].map(one => `HTTP/1.1 ${one}`),
  )
  const all = bodies(text)
  t.equal(all[0], 'GET /one 0 ')
  t.match(all[1], /^\{"metadata"/)
  t.equal(all[2], 'POST /two 3 abc')
  t.equal(all[5], 'PUT /three 0 ')
  t.equal(all[6], 'GET /four 0 ')
})

both(
  'more requests at once than are held: the client is read on, also where the last piece ended in a head',
  async (t, isSecure) => {
    const { port, at } = await served(t, isSecure)
    const connection = await raw(t, port)
    const padding = `X-Padding: ${'x'.repeat(1_000)}\r\n`
    const count = 300
    connection.send(Array.from({ length: count }, (_, index) => at('GET', `/${index}`, padding)).join(''))
    const text = await connection.seen(new RegExp(`GET /${count - 1} 0 `))
    t.same(
      text.match(/GET \/\d+ 0/g),
      Array.from({ length: count }, (_, index) => `GET /${index} 0`),
    )
  },
)

both('heads and bodies arrive in any pieces', async (t, isSecure) => {
  const { port, at } = await served(t, isSecure)
  const connection = await raw(t, port)
  connection.socket.setNoDelay(true)
  const text = `${at('POST', '/x', 'Content-Length: 9\r\n')}123456789`
  for (const size of [11, 40]) {
    const before = bodies(connection.text()).length
    for (let from = 0; from < text.length; from += size) {
      connection.send(text.slice(from, from + size))
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    await connection.seen(new RegExp(`^(?:[^]*POST /x 9 123456789){${before + 1}}$`))
  }
})

both('a large body comes whole, after it was asked to continue', async (t, isSecure) => {
  const { port, at } = await served(t, isSecure)
  const connection = await raw(t, port)
  const size = 3 * 1024 * 1024 + 7
  connection.send(at('PUT', '/big', `Content-Length: ${size}\r\nExpect: 100-continue\r\n`))
  await connection.seen(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  connection.send(`${'x'.repeat(size)}${at('GET', '/after')}`)
  const text = await connection.seen(/GET \/after 0 $/)
  t.same(bodies(text).slice(1), [`PUT /big ${size} xxxxxxxxx`, 'GET /after 0 '])
})

both(
  'a request in pieces, an upgrade or nonsense is answered on the connection where others were',
  async (t, isSecure) => {
    const { port, at } = await served(t, isSecure)
    const connection = await raw(t, port)
    connection.send(at('GET', '/one'))
    await connection.seen(/GET \/one 0 $/)
    connection.send(
      `${at('POST', '/two', 'Transfer-Encoding: chunked\r\n')}3\r\nabc\r\n0\r\n\r\n${at('GET', '/three')}`,
    )
    await connection.seen(/POST \/two 3 abc[^]*GET \/three 0 $/)
    connection.send('nonsense\r\n\r\n')
    t.match(await connection.ended, /HTTP\/1\.1 400 Bad Request\r\n[^]*$/)
  },
)

both('a large answer comes whole, and the next after it', async (t, isSecure) => {
  const { port, at } = await served(t, isSecure)
  const connection = await raw(t, port)
  connection.send(at('GET', '/long') + at('GET', '/after'))
  const text = await connection.seen(/GET \/after 0 $/)
  t.equal(bodies(text)[0], 'y'.repeat(longBytes))
})

both('a body that nobody takes is thrown away, and the next request is not part of it', async (t, isSecure) => {
  const { port, at } = await served(t, isSecure)
  const connection = await raw(t, port)
  const size = 300_000
  connection.send(`${at('POST', '/port/1/x', `Content-Length: ${size}\r\n`)}${'x'.repeat(size)}${at('GET', '/after')}`)
  const text = await connection.seen(/GET \/after 0 $/)
  t.same(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 502', 'HTTP/1.1 200'])
})

both('an end of the host ends connections that wait for nothing', async (t, isSecure) => {
  const { port, at, host } = await served(t, isSecure)
  const used = await raw(t, port)
  used.send(at('GET', '/one'))
  await used.seen(/GET \/one 0 $/)
  const fresh = await raw(t, port)
  await host.close()
  await Promise.all([used.ended, fresh.ended])
  t.pass('both')
})
