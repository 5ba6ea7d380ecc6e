import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { connect, createServer, type AddressInfo } from 'node:net'
import { createServer as createHttpServer } from 'node:http'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { daemon } from '../../support/daemon.ts'

const listening = async (t: Test, host = '127.0.0.1') => {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  return { server, port: (server.address() as AddressInfo).port }
}

/** Takes callbacks; `next(port)` resolves when that port was told. */
const callbacks = async (t: Test) => {
  const told: { pid: number; port: number }[] = []
  let look = () => {}
  const server = createHttpServer((request, response) => {
    void json(request).then(body => {
      told.push(body as { pid: number; port: number })
      response.end()
      look()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const next = (port: number) =>
    new Promise<{ pid: number; port: number }>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`nobody told of port ${port}`)), 30_000)
      look = () => {
        const found = told.find(one => one.port === port)
        if (!found) return
        clearTimeout(limit)
        resolve(found)
      }
      look()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, told, next }
}

t.test('lists the listener of a port, also while somebody is connected to it', async t => {
  const { call } = await daemon(t)
  const { port } = await listening(t)
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  const { status, body } = await call('GET', `/network/process/${process.pid}/ports`)
  client.destroy()
  t.equal(status, 200)
  t.equal(body.pid, process.pid)
  const found = body.ports.filter((one: { localPort: number }) => one.localPort === port)
  t.equal(found.length, 1)
  t.match(found[0], {
    pid: process.pid,
    protocol: 'tcp',
    localAddr: '127.0.0.1',
    localPort: port,
    remoteAddr: '0.0.0.0',
    remotePort: 0,
    state: 'LISTEN',
    processName: basename(process.execPath),
  })
})

t.test('an unknown pid has no ports; one that is no integer is refused by name', async t => {
  const { call } = await daemon(t)
  const unknown = await call('GET', '/network/process/1073741824/ports')
  t.same([unknown.status, unknown.body], [200, { pid: 1073741824, ports: [] }])
  for (const pid of ['abc', '1.5', '99999999999999999999', '-1', '1%00', '1e3', '%20']) {
    for (const [method, path] of [
      ['GET', 'ports'],
      ['POST', 'monitor'],
      ['DELETE', 'monitor'],
    ] as const) {
      const { status, body } = await call(method, `/network/process/${pid}/${path}`)
      t.equal(status, 400, `${method} ${pid}`)
      t.match(body.error, /invalid PID/)
    }
  }
})

t.test('a monitor tells of ports that are there and of those that come', async t => {
  const { call } = await daemon(t)
  const before = await listening(t)
  const { url, told, next } = await callbacks(t)
  const target = `/network/process/${process.pid}/monitor`
  const started = await call('POST', target, { body: { callback: url } })
  t.equal(started.status, 200)
  t.match(started.body, { path: '', message: /started/ })
  t.same(await next(before.port), { pid: process.pid, port: before.port })
  const after = await listening(t)
  t.same(await next(after.port), { pid: process.pid, port: after.port })
  const stopped = await call('DELETE', target)
  t.match(stopped.body, { path: '', message: /stopped/ })
  t.equal(told.filter(({ port }) => port === before.port).length, 1, 'a port is told once')
  t.equal((await call('DELETE', target)).status, 200, 'stopping again is no failure')
})

t.test('a callback that cannot be reached harms nobody', async t => {
  const { call } = await daemon(t)
  const { port } = await listening(t)
  const { url, next } = await callbacks(t)
  const target = `/network/process/${process.pid}/monitor`
  t.equal((await call('POST', target, { body: { callback: 'http://127.0.0.1:1/' } })).status, 200)
  t.equal((await call('POST', target, { body: { callback: url } })).status, 200)
  t.equal((await next(port)).port, port)
})

t.test('a callback may be at any port, may send one on, and may never answer', async t => {
  const { call } = await daemon(t)
  const { port } = await listening(t)
  const target = `/network/process/${process.pid}/monitor`
  const { url, told, next } = await callbacks(t)
  const odd = createHttpServer((_request, response) => {
    asked++
    response.writeHead(307, { location: url }).end('x'.repeat(1_000_000))
    seen()
  })
  const silent = createHttpServer(() => undefined)
  let asked = 0
  let seen = (): void => undefined
  const redirected = new Promise<void>(resolve => {
    seen = resolve
  })
  // One of the ports that browsers do not call.
  const barred = [6000, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 10_080]
  for (const candidate of barred) {
    odd.listen(candidate, '127.0.0.1')
    if (await once(odd, 'listening').catch(() => undefined)) break
  }
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    for (const server of [odd, silent]) {
      server.closeAllConnections()
      server.close()
    }
  })
  for (const server of [silent, odd]) {
    const callback = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    t.equal((await call('POST', target, { body: { callback } })).status, 200)
  }
  await redirected
  t.same(told, [], 'it is not followed')
  t.ok(asked > 0)
  t.equal((await call('POST', target, { body: { callback: url } })).status, 200)
  t.equal((await next(port)).port, port, 'the others are told')
})

t.test('monitors of processes that are gone give way', async t => {
  const { call } = await daemon(t)
  const monitor = (pid: number) => call('POST', `/network/process/${pid}/monitor`)
  for (let index = 0; index < 999; index++) await monitor(1_073_741_824)
  t.equal((await monitor(process.pid)).status, 200)
  t.equal((await monitor(process.pid)).status, 200, 'the thousand and first')
  for (let index = 2; index < 1000; index++) await monitor(process.pid)
  t.match(await monitor(process.pid), { status: 422, body: { error: /stop some/ } }, 'those of living ones do not')
  await call('DELETE', `/network/process/${process.pid}/monitor`)
})

t.test('a monitor may be asked for without a callback, a bad one is refused', async t => {
  const { call } = await daemon(t)
  const target = '/network/process/1073741824/monitor'
  for (const body of [undefined, {}, { callback: '' }, { callback: null }, { other: 1 }])
    t.equal((await call('POST', target, { body })).status, 200, JSON.stringify(body))
  for (const body of [[], 'text', 7, '{', { callback: 7 }, { callback: 'ftp://x/' }, { callback: 'no url' }]) {
    const { status, body: answer } = await call('POST', target, { body })
    t.equal(status, 400, JSON.stringify(body))
    t.match(answer.error, /^invalid request body/)
  }
})

t.test('after a restart the ports are those of the process that runs now', async t => {
  const { call, dir } = await daemon(t)
  // The first attempt fails; the second listens and says where.
  const script =
    "const { existsSync, writeFileSync } = require('fs'); if (!existsSync('again')) { writeFileSync('again', ''); process.exit(1) } " +
    "const s = require('net').createServer().listen(0, '0.0.0.0', () => { writeFileSync('port.new', String(s.address().port)); require('fs').renameSync('port.new', 'port') })"
  const { body } = await call('POST', '/process', {
    body: { command: `'${process.execPath}' -e "${script}"`, workingDir: dir, restartOnFailure: true, maxRestarts: 1 },
  })
  t.teardown(() => call('DELETE', `/process/${body.pid}/kill`))
  const limit = Date.now() + 60_000
  while (!existsSync(join(dir, 'port')) && Date.now() < limit) await new Promise(resolve => setTimeout(resolve, 50))
  const port = Number(readFileSync(join(dir, 'port'), 'utf8'))
  const answer = await call('GET', `/network/process/${body.pid}/ports`)
  t.equal(answer.body.pid, Number(body.pid))
  const found = answer.body.ports.find((one: { localPort: number }) => one.localPort === port)
  t.ok(found)
  t.not(found.pid, Number(body.pid))
})
