import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  closeSync,
} from 'node:fs'
import { connect } from 'node:net'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { createNodeInternals } from '../../../../daemon/node-internals/index.ts'
import { requestOf } from '../../../support/call.ts'
import { daemon, daemonServer } from '../../../support/daemon.ts'

const bytesWanted = { accept: 'application/octet-stream' }

/** How many descriptors of this process point to `path`. */
const held = (path: string): number =>
  readdirSync('/proc/self/fd').filter(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path
    } catch {
      // Closed since it was listed.
      return false
    }
  }).length

/** Waits, at most 30 s, until `what` holds. */
const until = async (what: () => boolean): Promise<void> => {
  for (const end = performance.now() + 30_000; !what() && performance.now() < end; )
    await new Promise(resolve => setImmediate(resolve))
  if (!what()) throw new Error('waited in vain')
}

t.test('the type by extension, exact, and the disposition', async t => {
  const types: Record<string, string> = {
    txt: 'text/plain',
    log: 'text/plain',
    json: 'application/json',
    html: 'text/html',
    htm: 'text/html',
    js: 'application/javascript',
    css: 'text/css',
    bin: 'application/octet-stream',
    pdf: 'application/pdf',
    zip: 'application/zip',
    tar: 'application/x-tar',
    gz: 'application/gzip',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    png: 'image/png',
    gif: 'image/gif',
    svg: 'image/svg+xml',
    xml: 'application/xml',
    TXT: 'application/octet-stream',
    'tar.gz': 'application/gzip',
  }
  const files = Object.fromEntries(Object.keys(types).map(extension => [`f.${extension}`, '1']))
  const { call } = await daemon(t, { files: { ...files, plain: 'x' } })
  for (const [extension, type] of Object.entries(types)) {
    const answer = await call('GET', `/filesystem/f.${extension}`, { headers: bytesWanted })
    t.equal(answer.status, 200)
    t.equal(answer.headers['content-type'], type, extension)
    t.equal(answer.headers['content-disposition'], `attachment; filename="f.${extension}"`)
    t.equal((await call('GET', `/filesystem/f.${extension}?download=true`)).headers['content-type'], type)
  }
  t.equal((await call('GET', '/filesystem/plain?download=true')).headers['content-type'], 'application/octet-stream')
})

t.test('who gets bytes and who gets JSON', async t => {
  const { call } = await daemon(t, { files: { 'a.txt': 'A', d: {} } })
  const kind = async (accept: string | undefined, query = '', path = 'a.txt') => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept }
    const answer = await call('GET', `/filesystem/${path}${query}`, { headers })
    return answer.body ? 'json' : answer.text === 'A' ? 'bytes' : answer.text
  }
  t.equal(await kind(undefined), 'json')
  t.equal(await kind(''), 'json')
  t.equal(await kind('*/*'), 'json')
  t.equal(await kind('application/json'), 'json')
  t.equal(await kind('text/html,application/xhtml+xml,*/*;q=0.8'), 'json', 'a browser')
  t.equal(await kind('application/octet-stream'), 'bytes')
  t.equal(await kind('application/json, application/octet-stream'), 'bytes')
  t.equal(await kind('text/plain'), 'bytes')
  t.equal(await kind('application/json', '?download=true'), 'bytes')
  t.equal(await kind(undefined, '?download=1'), 'json', 'only the exact word counts')
  t.equal(await kind('application/octet-stream', '?download=true', 'd'), 'json', 'a directory is always JSON')
})

t.test('a name cannot break out of the disposition', async t => {
  const { call, dir } = await daemon(t)
  writeFileSync(join(dir, 'a"; x="b\nü.txt'), 'x')
  const answer = await call('GET', `/filesystem/${encodeURIComponent('a"; x="b\nü.txt')}?download=true`)
  t.equal(
    answer.headers['content-disposition'],
    `attachment; filename="a\\"; x=\\"b__.txt"; filename*=UTF-8''a%22%3B%20x%3D%22b%0A%C3%BC.txt`,
  )
})

t.test('ranges', async t => {
  const { call } = await daemon(t, { files: { f: '0123456789', empty: '' } })
  const ask = async (range: string, headers: Record<string, string> = {}, path = 'f') => {
    const answer = await call('GET', `/filesystem/${path}?download=true`, { headers: { range, ...headers } })
    return [answer.status, answer.status === 416 ? '' : answer.text, answer.headers['content-range']]
  }
  t.same(await ask('bytes=2-4'), [206, '234', 'bytes 2-4/10'])
  t.same(await ask('bytes=0-0'), [206, '0', 'bytes 0-0/10'])
  t.same(await ask('bytes=7-'), [206, '789', 'bytes 7-9/10'])
  t.same(await ask('bytes=-3'), [206, '789', 'bytes 7-9/10'])
  t.same(await ask('bytes=-30'), [206, '0123456789', 'bytes 0-9/10'])
  t.same(await ask('bytes=5-500'), [206, '56789', 'bytes 5-9/10'])
  t.same(await ask('bytes=10-'), [416, '', 'bytes */10'])
  t.same(await ask('bytes=-0'), [416, '', 'bytes */10'])
  for (const whole of ['bytes=4-2', 'bytes=-', 'bytes=a-b', 'lines=1-2', 'bytes=', 'bytes=0-1,x', 'bytes=0-8,1-9'])
    t.same(await ask(whole), [200, '0123456789', undefined], whole)
  t.same(await ask('bytes=0-1', {}, 'empty'), [200, '', undefined])
  const { headers } = await call('GET', '/filesystem/f?download=true')
  t.match(headers, { 'accept-ranges': 'bytes', 'content-length': '10' })
  t.same(await ask('bytes=2-4', { 'if-range': String(headers['etag']) }), [206, '234', 'bytes 2-4/10'])
  t.same(await ask('bytes=2-4', { 'if-range': String(headers['last-modified']) }), [206, '234', 'bytes 2-4/10'])
  t.same(await ask('bytes=2-4', { 'if-range': '"other"' }), [200, '0123456789', undefined])
})

t.test('a file that says it has a page and has less is sent as it is', async t => {
  const { call } = await daemon(t)
  const path = '/sys/kernel/mm/transparent_hugepage/enabled'
  if (!existsSync(path) || statSync(path).size !== 4096) return void t.pass('no such file here: not looked at')
  const { status, headers, text } = await call('GET', `/filesystem/${path}?download=true`)
  t.equal(status, 200)
  t.match(text, /never/)
  t.equal(headers['content-length'], String(text.length))
  const part = await call('GET', `/filesystem/${path}?download=true`, { headers: { range: 'bytes=0-1' } })
  t.match(part, { status: 206, text: text.slice(0, 2), headers: { 'content-range': `bytes 0-1/${text.length}` } })
})

t.test('several ranges are the parts of one answer', async t => {
  const { url, dir, call } = await daemonServer(t)
  const content = randomBytes(3 * 1024 * 1024)
  writeFileSync(join(dir, 'f.txt'), content)
  const size = content.length
  const get = (range: string) => call('GET', '/filesystem/f.txt?download=true', { headers: { range } })
  const given: [number, number][] = [
    [0, 4],
    [1_000_000, 2_200_000],
    [size - 3, size - 1],
  ]
  const answer = await fetch(`${url}/filesystem/f.txt?download=true`, {
    headers: { range: 'bytes=0-4, ,1000000-2200000,-3,999999999-' },
  })
  t.equal(answer.status, 206)
  t.equal(answer.headers.get('content-range'), null)
  const type = answer.headers.get('content-type') ?? ''
  const boundary = /^multipart\/byteranges; boundary="([\w-]+)"$/.exec(type)?.[1] ?? ''
  const body = Buffer.from(await answer.arrayBuffer())
  t.equal(answer.headers.get('content-length'), String(body.length))
  const wanted = given.flatMap(([from, to]) => [
    Buffer.from(`--${boundary}\r\ncontent-type: text/plain\r\ncontent-range: bytes ${from}-${to}/${size}\r\n\r\n`),
    content.subarray(from, to + 1),
    Buffer.from('\r\n'),
  ])
  t.ok(body.equals(Buffer.concat([...wanted, Buffer.from(`--${boundary}--\r\n`)])), 'each in its place')
  t.match((await get('bytes=0-1,99999999-')).headers, { 'content-range': `bytes 0-1/${size}` }, 'one that is left')
  t.equal((await get('bytes=99999999-,-0')).status, 416, 'none that is left')
  t.equal((await get(`bytes=${'0-0,'.repeat(65)}`)).status, 200, 'more than are worth it')
  t.equal((await get(`bytes=${'0-0,'.repeat(64)}`)).status, 206)
  await until(() => held(join(dir, 'f.txt')) === 0)
})

t.test('conditions', async t => {
  const { call, dir } = await daemon(t, { files: { f: 'x' } })
  utimesSync(join(dir, 'f'), 1_700_000_000, 1_700_000_000)
  const first = await call('GET', '/filesystem/f?download=true')
  t.equal(first.headers['last-modified'], 'Tue, 14 Nov 2023 22:13:20 GMT')
  const etag = String(first.headers['etag'])
  const status = async (headers: Record<string, string>) =>
    (await call('GET', '/filesystem/f?download=true', { headers })).status
  t.equal(await status({ 'if-none-match': etag }), 304)
  t.equal(await status({ 'if-none-match': `"a", W/${etag}` }), 304)
  t.equal(await status({ 'if-none-match': '*' }), 304)
  t.equal(await status({ 'if-none-match': '"a"', 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' }), 200)
  t.equal(await status({ 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' }), 304)
  t.equal(await status({ 'if-modified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' }), 200)
  t.equal(await status({ 'if-modified-since': 'nonsense' }), 200)
  t.equal(await status({ 'if-match': etag }), 200)
  t.equal(await status({ 'if-match': '"a"' }), 412)
  t.equal(await status({ 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' }), 412)
  t.equal(await status({ 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' }), 200)
  writeFileSync(join(dir, 'f'), 'yy')
  t.equal(await status({ 'if-none-match': etag }), 200, 'a change shows')
  await until(() => held(join(dir, 'f')) === 0)
})

const ways = { 'by the kernel': createNodeInternals(), copied: createNodeInternals(new Set(['send-file'])) }

for (const [way, nodeInternals] of Object.entries(ways)) {
  t.test(`${way}: a large file arrives whole over a socket, and the connection is kept`, async t => {
    const { url, dir } = await daemonServer(t, { nodeInternals })
    const content = randomBytes(9 * 1024 * 1024 + 17)
    writeFileSync(join(dir, 'big.bin'), content)
    for (let round = 0; round < 2; round++) {
      const answer = await fetch(`${url}/filesystem/big.bin`, { headers: bytesWanted })
      const got = Buffer.from(await answer.arrayBuffer())
      t.equal(answer.headers.get('content-length'), String(content.length))
      t.equal(createHash('sha256').update(got).digest('hex'), createHash('sha256').update(content).digest('hex'))
    }
    const part = await fetch(`${url}/filesystem/big.bin?download=true`, {
      headers: { range: `bytes=1048570-${3 * 1024 * 1024}` },
    })
    t.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(1048570, 3 * 1024 * 1024 + 1)), 'across blocks')
    await until(() => held(join(dir, 'big.bin')) === 0)
  })

  t.test(
    `${way}: a reader that is slow does not make the daemon read ahead, and one that leaves frees the file`,
    async t => {
      const { port, dir } = await daemonServer(t, { nodeInternals })
      const path = join(dir, 'sparse')
      closeSync(openSync(path, 'w'))
      truncateSync(path, 2 * 1024 ** 3)
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET /filesystem/sparse?download=true HTTP/1.1\r\nhost: x\r\n\r\n')
      await once(socket, 'readable')
      await until(() => held(path) === 1)
      const before = process.memoryUsage()
      // Enough turns of the loop for hundreds of megabytes, were nothing holding the reading up.
      for (let turn = 0; turn < 2_000; turn++) await new Promise(resolve => setImmediate(resolve))
      const after = process.memoryUsage()
      t.ok(after.external + after.arrayBuffers - before.external - before.arrayBuffers < 64 * 1024 * 1024)
      socket.destroy()
      await until(() => held(path) === 0)
    },
  )

  t.test(
    `${way}: a file that becomes shorter while it is sent cuts the connection instead of ending as if whole`,
    async t => {
      const { url, dir } = await daemonServer(t, { nodeInternals })
      const path = join(dir, 'shrinks')
      closeSync(openSync(path, 'w'))
      truncateSync(path, 512 * 1024 * 1024)
      const message = await new Promise<IncomingMessage>((resolve, reject) =>
        get(`${url}/filesystem/shrinks?download=true`, resolve).on('error', reject),
      )
      truncateSync(path, 10)
      t.equal(statSync(path).size, 10)
      await t.rejects(buffer(message))
    },
  )
}

t.test('leaving before the answer begins leaves no descriptor', async t => {
  const { daemon: made, dir } = await daemon(t, { files: { f: 'x'.repeat(100_000) } })
  const gone = new AbortController()
  await made.dispatcher.dispatch(requestOf('GET', '/filesystem/f?download=true'), gone)
  t.equal(held(join(dir, 'f')), 1)
  gone.abort()
  await until(() => held(join(dir, 'f')) === 0)
})
