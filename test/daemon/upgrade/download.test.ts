import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { openAnonymous } from '../../../daemon/upgrade/anonymous-file.ts'
import { download } from '../../../daemon/upgrade/download.ts'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog } from '../../../shared/log.ts'
import { standIn } from '../../support/stand-in.ts'

const bytes = Buffer.alloc(100_000, 'release')

/** Downloads with a clock that does not wait but writes down how long it should have. */
const fetchFrom = async (t: Test, url: string) => {
  const waits: number[] = []
  const file = await openAnonymous(t.testdir({}))
  t.teardown(() => file.close())
  const sleep = async (ms: number) => void waits.push(ms)
  const deps = { clock: { ...systemClock(), sleep }, log: silentLog, jitter: () => 0.5 }
  const size = await download(url, file, deps, new AbortController().signal).catch(error => {
    throw Object.assign(error, { waits })
  })
  return { size, waits, content: await readFile(`/proc/self/fd/${file.fd}`) }
}

t.test('a release arrives whole, asked for as bytes', async t => {
  const { url, asked } = await standIn(t, (_asked, response) => response.end(bytes))
  const { size, content, waits } = await fetchFrom(t, `${url}/x`)
  t.equal(size, bytes.length)
  t.ok(content.equals(bytes))
  t.same(waits, [])
  t.match(asked[0], { path: '/x', headers: { accept: 'application/octet-stream', 'user-agent': 'hutchd' } })
})

t.test('throttling and server errors are tried again, later each time', async t => {
  const statuses = [429, 503, 403]
  const { url, asked } = await standIn(t, (_asked, response, nth) => {
    const status = statuses[nth - 1]
    if (status) response.writeHead(status).end('busy')
    else response.end(bytes)
  })
  const { size, waits } = await fetchFrom(t, url)
  t.equal(size, bytes.length)
  t.equal(asked.length, 4)
  t.same(waits, [2000, 4000, 8000])
})

t.test('after four attempts it is over', async t => {
  const { url, asked } = await standIn(t, (_asked, response) => response.writeHead(500).end())
  await t.rejects(fetchFrom(t, url), { code: 'operation_failed', message: /answered 500/ })
  t.equal(asked.length, 4)
})

t.test('Retry-After is honoured', async t => {
  const { url } = await standIn(t, (_asked, response, nth) => {
    if (nth === 1) response.writeHead(429, { 'retry-after': '7' }).end()
    else response.end(bytes)
  })
  t.same((await fetchFrom(t, url)).waits, [7000])
})

t.test('404 is final', async t => {
  const { url, asked } = await standIn(t, (_asked, response) => response.writeHead(404).end())
  await t.rejects(fetchFrom(t, url), { code: 'operation_failed', message: /answered 404/ })
  t.equal(asked.length, 1)
})

t.test('a short answer counts as broken and the next attempt starts over', async t => {
  const { url, asked } = await standIn(t, (_asked, response, nth) => {
    response.writeHead(200, { 'content-length': String(bytes.length) })
    if (nth > 1) response.end(bytes)
    else response.write(bytes.subarray(0, 70_000), () => response.destroy())
  })
  const { content } = await fetchFrom(t, url)
  t.equal(asked.length, 2)
  t.ok(content.equals(bytes))
})

t.test('nobody there is a failure, not a crash', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  await t.rejects(fetchFrom(t, `http://127.0.0.1:${port}/`), { code: 'operation_failed', message: /ECONNREFUSED/ })
  await t.rejects(fetchFrom(t, 'nonsense'), { code: 'operation_failed' })
})
