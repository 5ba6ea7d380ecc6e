import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { createFilesystem } from '../../../daemon/filesystem/index.ts'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'
import { createMultipart } from '../../../daemon/multipart/index.ts'
import { createPaths } from '../../../daemon/paths.ts'
import { createDaemonSurface } from '../../../daemon/surface.ts'
import { call as inProcess } from '../../support/call.ts'
import { dispatcher } from '../../../shared/http/dispatch.ts'
import { daemon, daemonServer, type TestDaemon } from '../../support/daemon.ts'
import { smallDisk } from '../../support/small-disk.ts'
import { until } from '../../support/until.ts'

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')
const base = '/filesystem-multipart'

const form = (value: Buffer | string, filename: string | undefined = 'blob', name = 'file') => ({
  body: Buffer.concat([
    Buffer.from(
      `--XyZ\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ''}\r\n\r\n`,
    ),
    Buffer.from(value as string),
    Buffer.from('\r\n--XyZ--\r\n'),
  ]),
  headers: { 'content-type': 'multipart/form-data; boundary=XyZ' },
})

/** The calls of one upload. */
const client = (call: TestDaemon['call']) => ({
  async start(path: string, body?: unknown) {
    const answer = await call('POST', `${base}/initiate/${encodeURIComponent(path)}`, { body })
    return answer.body.uploadId as string
  },
  put: (id: string, number: number | string, value: Buffer | string) =>
    call('PUT', `${base}/${id}/part?partNumber=${number}`, form(value)),
  complete: (id: string, parts: { partNumber: number; etag: string }[]) =>
    call('POST', `${base}/${id}/complete`, { body: { parts } }),
  parts: async (id: string) => (await call('GET', `${base}/${id}/parts`)).body.parts,
})

/** Parts of a file as clients cut it: equal ones and a rest. */
const cut = (content: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(content.length / size) }, (_, index) =>
    content.subarray(index * size, (index + 1) * size),
  )

t.test('the flow: initiate, parts, list, complete', async t => {
  const { call, dir, config } = await daemon(t)
  const path = join(dir, 'deep/file.bin')
  const started = await call('POST', `${base}/initiate/${encodeURIComponent(path)}`, {
    body: { permissions: '0640' },
  })
  t.match(started.body, { uploadId: /^[0-9a-f-]{36}$/, path })
  const id = started.body.uploadId
  const { put, complete, parts } = client(call)
  const pieces = [randomBytes(1000), randomBytes(1000), randomBytes(10)]
  for (const [index, piece] of pieces.entries()) {
    const answer = await put(id, index + 1, piece)
    t.same(answer.body, { partNumber: index + 1, etag: md5(piece), size: piece.length })
  }
  const listed = await parts(id)
  t.same(
    listed.map((part: { partNumber: number }) => part.partNumber),
    [1, 2, 3],
  )
  t.match(listed[0], { etag: md5(pieces[0] as Buffer), size: 1000, uploadedAt: /^\d{4}-.*T/ })
  const all = (await call('GET', base)).body.uploads
  t.match(all, [{ uploadId: id, path, permissions: 0o640, initiatedAt: /T/, parts: { '3': { size: 10 } } }])
  const done = await complete(id, listed)
  t.match(done.body, { path, message: /success/ })
  t.ok(readFileSync(path).equals(Buffer.concat(pieces)))
  t.equal(statSync(path).mode & 0o777, 0o640 & ~process.umask())
  t.equal((await call('GET', `${base}/${id}/parts`)).status, 404)
  t.same((await call('GET', base)).body, { uploads: [] })
  t.same(readdirSync(join(config.tmpDir, 'multipart-uploads')), [], 'nothing is left over')
})

t.test('the body of initiate is optional, a broken one is ignored, bad permissions are not', async t => {
  const { call } = await daemon(t)
  for (const body of [undefined, '', '{', '[]', '"x"', '{"permissions":5}'])
    t.equal((await call('POST', `${base}/initiate/a`, { body })).status, 200, String(body))
  t.equal((await call('POST', `${base}/initiate/a`, { body: { permissions: '0o7' } })).status, 400)
  t.equal((await call('POST', `${base}/initiate/a%00b`)).status, 400)
})

t.test('relative targets follow the rules of addresses', async t => {
  const { call, dir } = await daemon(t)
  t.equal((await call('POST', `${base}/initiate/src/a`)).body.path, join(dir, 'src/a'))
  t.equal((await call('POST', `${base}/initiate/src%2Fa`)).body.path, '/src/a')
})

t.test('any order, in parallel, every size of the last part: the bytes are right', async t => {
  const { call, dir } = await daemon(t)
  const { start, put, complete } = client(call)
  for (const [label, total, size, order] of [
    ['descending', 3_000, 1_000, [3, 2, 1]],
    ['small last part first', 2_500, 1_000, [3, 1, 2]],
    ['many', 100_003, 1_000, Array.from({ length: 101 }, (_, index) => ((index * 37) % 101) + 1)],
    ['exact', 8 * 70_000, 70_000, [1, 2, 3, 4, 8, 7, 6, 5]],
    ['one', 10, 1_000, [1]],
  ] as const) {
    const content = randomBytes(total)
    const pieces = cut(content, size)
    const path = join(dir, label)
    const id = await start(path)
    const etags = new Map<number, string>()
    const [first, ...others] = order
    for (const group of [[first], others.slice(0, 2), others.slice(2)])
      await Promise.all(
        group.map(async number => {
          const answer = await put(id, number, pieces[number - 1] as Buffer)
          etags.set(number, answer.body.etag)
        }),
      )
    const list = order.map(partNumber => ({ partNumber, etag: etags.get(partNumber) as string }))
    t.equal((await complete(id, list)).status, 200, label)
    t.ok(readFileSync(path).equals(content), label)
  }
})

t.test('parts of unequal sizes, gaps in the numbers, a subset, one listed twice', async t => {
  const { call, dir } = await daemon(t)
  const { start, put, complete } = client(call)
  const make = async (sizes: Record<number, number>, listed: number[], label: string) => {
    const id = await start(join(dir, label))
    const pieces = new Map<number, Buffer>()
    for (const [number, size] of Object.entries(sizes)) {
      const piece = randomBytes(size)
      pieces.set(Number(number), piece)
      await put(id, number, piece)
    }
    const list = listed.map(partNumber => ({ partNumber, etag: md5(pieces.get(partNumber) as Buffer) }))
    t.equal((await complete(id, list)).status, 200, label)
    const wanted = Buffer.concat([...listed].sort((a, b) => a - b).map(number => pieces.get(number) as Buffer))
    t.ok(readFileSync(join(dir, label)).equals(wanted), label)
  }
  await make({ 1: 100, 2: 5000, 3: 70, 4: 100 }, [1, 2, 3, 4], 'unequal')
  await make({ 1: 100, 2: 100, 3: 200 }, [1, 2, 3], 'last larger')
  await make({ 5: 100, 7: 100, 10000: 3 }, [5, 7, 10000], 'gaps')
  await make({ 1: 100, 2: 100, 3: 100, 4: 50 }, [1, 2], 'a subset')
  await make({ 1: 100, 2: 100 }, [1, 2, 2], 'one twice')
  await make({ 1: 0 }, [1], 'empty')
  await make({ 1: 100, 2: 0, 3: 100 }, [1, 2, 3], 'an empty one between')
})

t.test('a number sent again replaces the part, also one that is in place already, also by another size', async t => {
  const { call, dir } = await daemon(t)
  const { start, put, complete, parts } = client(call)
  const path = join(dir, 'f')
  const id = await start(path)
  const pieces = Array.from({ length: 4 }, () => randomBytes(500))
  for (const [index, piece] of pieces.entries()) await put(id, index + 1, piece)
  const before = (await parts(id))[2].etag
  for (const size of [500, 900, 500]) {
    pieces[2] = randomBytes(size)
    t.equal((await put(id, 3, pieces[2])).body.etag, md5(pieces[2]))
  }
  t.not((await parts(id))[2].etag, before)
  t.equal((await complete(id, [{ partNumber: 3, etag: before }])).status, 500, 'the old content is gone')
  t.equal((await complete(id, await parts(id))).status, 200)
  t.ok(readFileSync(path).equals(Buffer.concat(pieces)))
})

t.test('errors', async t => {
  const { call, dir } = await daemon(t)
  const { start, put, complete } = client(call)
  const id = await start(join(dir, 'f'))
  const piece = Buffer.from('x')
  for (const number of [0, 10001, -1]) t.equal((await put(id, number, piece)).status, 500, `part ${number}`)
  for (const number of ['', 'x', '1.5', '1e3'])
    t.equal((await put(id, number, piece)).status, 400, `part number "${number}"`)
  t.equal((await call('PUT', `${base}/${id}/part`, form('x'))).status, 400, 'no part number')
  t.equal((await call('PUT', `${base}/${id}/part?partNumber=1`, { body: 'x' })).status, 400, 'no form')
  t.equal((await call('PUT', `${base}/${id}/part?partNumber=1`, form('x', 'f', 'other'))).status, 400, 'no file')
  const whole = form('y'.repeat(1000))
  const short = { ...whole, body: whole.body.subarray(0, 500) }
  t.equal((await call('PUT', `${base}/${id}/part?partNumber=1`, short)).status, 400, 'cut short')
  t.same(await client(call).parts(id), [], 'no part came of it')
  for (const body of ['{', '', { parts: [] }, {}, { parts: [{ partNumber: 'x', etag: 'y' }] }])
    t.equal((await call('POST', `${base}/${id}/complete`, { body })).status, 400, JSON.stringify(body))
  t.equal((await complete(id, [{ partNumber: 1, etag: md5(piece) }])).status, 500, 'never uploaded')
  await put(id, 1, piece)
  t.equal((await complete(id, [{ partNumber: 1, etag: md5(piece).toUpperCase() }])).status, 500, 'etag, byte for byte')
  t.notOk(existsSync(join(dir, 'f')))
  t.equal((await call('POST', `${base}/nope/complete`, { body: { parts: [{ partNumber: 1, etag: '' }] } })).status, 404)
  t.equal((await call('GET', `${base}/nope/parts`)).status, 404)
  t.equal((await call('DELETE', `${base}/nope/abort`)).status, 404)
  t.equal((await put('nope', 1, piece)).status, 500)
  mkdirSync(join(dir, 'f'))
  t.equal((await complete(id, [{ partNumber: 1, etag: md5(piece) }])).status, 500, 'a directory is there')
  const extra = { parts: [{ partNumber: 1, etag: md5(piece), size: 1, more: 'x' }], more: 1 }
  const other = await start(join(dir, 'g'))
  await put(other, 1, piece)
  t.equal((await call('POST', `${base}/${other}/complete`, { body: extra })).status, 200, 'extra fields are ignored')
})

t.test('abort', async t => {
  const { call, dir, config } = await daemon(t)
  const { start, put } = client(call)
  const [one, two] = [await start(join(dir, 'a')), await start(join(dir, 'b'))]
  const ids = (await call('GET', base)).body.uploads.map((upload: { uploadId: string }) => upload.uploadId)
  t.same(ids.sort(), [one, two].sort())
  await put(one, 1, 'x')
  const answer = await call('DELETE', `${base}/${one}/abort`)
  t.match(answer.body, { path: '', message: /aborted/ })
  t.equal((await put(one, 2, 'x')).status, 500)
  t.equal((await call('GET', `/filesystem${encodeURIComponent(join(dir, 'a'))}`)).status, 404)
  t.same(readdirSync(join(config.tmpDir, 'multipart-uploads')), [two])
})

t.test('a part without a file name is taken, binary included', async t => {
  const { call, dir } = await daemon(t)
  const { start, complete } = client(call)
  const id = await start(join(dir, 'f'))
  const content = randomBytes(5000)
  const answer = await call('PUT', `${base}/${id}/part?partNumber=1`, form(content, ''))
  t.equal(answer.body.etag, md5(content))
  await complete(id, [answer.body])
  t.ok(readFileSync(join(dir, 'f')).equals(content))
})

t.test('an upload outlives the daemon', async t => {
  const first = await daemon(t)
  const path = join(first.dir, 'f')
  const id = await client(first.call).start(path, { permissions: '0600' })
  const content = randomBytes(5_500)
  const pieces = cut(content, 1000)
  for (const number of [1, 2, 4]) await client(first.call).put(id, number, pieces[number - 1] as Buffer)
  const before = await client(first.call).parts(id)
  await first.close()
  // What a daemon that was killed leaves: a part on its way, a replaced part not yet deleted, an upload not yet begun.
  const store = join(first.config.tmpDir, 'multipart-uploads')
  writeFileSync(join(store, id, 'incoming-abc'), 'half')
  const stale = join(store, id, `part-1.${md5(Buffer.from('stale'))}`)
  writeFileSync(stale, 'stale')
  utimesSync(stale, 1, 1)
  mkdirSync(join(store, '12345678-1234-4234-8234-123456789012'))
  const { core } = first.daemon
  const paths = createPaths({ workdir: () => first.dir, home: () => undefined })
  const bounds = createMultipart(core, { paths, ...createFilesystem(core, createFilePort(undefined)).files })
  const elapsed = core.clock.elapsed
  const second = dispatcher(bounds, createDaemonSurface(bounds, first.config), {
    log: core.log,
    ids: core.ids,
    elapsed,
  })
  const call: TestDaemon['call'] = (method, target, options) => inProcess(second, method, target, options)
  t.match((await call('GET', base)).body.uploads, [{ uploadId: id, path, permissions: 0o600 }])
  const after = await client(call).parts(id)
  const bare = (parts: object[]) => parts.map(part => ({ ...part, uploadedAt: undefined }))
  t.same(bare(after), bare(before))
  t.notOk(existsSync(join(store, id, 'incoming-abc')))
  t.notOk(existsSync(stale))
  for (const number of [3, 5, 6]) await client(call).put(id, number, pieces[number - 1] as Buffer)
  t.equal((await client(call).complete(id, await client(call).parts(id))).status, 200)
  t.ok(readFileSync(path).equals(content))
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('the finished file replaces one that is there, through a link, keeping its mode', async t => {
  const { call, dir } = await daemon(t, { files: { old: 'old content that is longer' } })
  chmodSync(join(dir, 'old'), 0o750)
  symlinkSync('old', join(dir, 'link'))
  const { start, put, complete, parts } = client(call)
  for (const [label, pieces] of [
    ['in place', ['aa', 'bb', 'c']],
    ['copied', ['a', 'bbb', 'cc']],
  ] as const) {
    const id = await start(join(dir, 'link'))
    for (const [index, piece] of pieces.entries()) await put(id, index + 1, piece)
    t.equal((await complete(id, await parts(id))).status, 200, label)
    t.equal(readFileSync(join(dir, 'old'), 'utf8'), pieces.join(''), label)
    t.equal(statSync(join(dir, 'old')).mode & 0o777, 0o750, label)
  }
})

t.test('where the daemon cannot keep parts every call says so', async t => {
  const { call, config } = await daemon(t)
  symlinkSync('/', join(config.tmpDir, 'multipart-uploads'))
  t.equal((await call('POST', `${base}/initiate/a`)).status, 500, 'a link that somebody planted')
  t.match((await call('GET', base)).body, { error: /only the daemon may write/ })
})

t.test('a client that goes away mid-way leaves no part', async t => {
  const { call, dir, port, config } = await daemonServer(t)
  const { start, put, parts, complete } = client(call)
  const id = await start(join(dir, 'f'))
  const store = join(config.tmpDir, 'multipart-uploads', id)
  const size = 2_000_000
  const pieces = [randomBytes(size), randomBytes(size)]
  await put(id, 1, pieces[0] as Buffer)
  const { body, headers } = form(randomBytes(size))
  const leave = async (begun: () => boolean, ended: () => boolean) => {
    const asked = request({
      port,
      host: '127.0.0.1',
      method: 'PUT',
      path: `${base}/${id}/part?partNumber=2`,
      headers: { ...headers, 'content-length': body.length },
    })
    asked.on('error', () => {})
    asked.write(body.subarray(0, size / 2))
    const until = async (what: () => boolean) => {
      for (const end = performance.now() + 30_000; !what() && performance.now() < end; )
        await new Promise(resolve => setImmediate(resolve))
      t.ok(what())
    }
    await until(begun)
    asked.destroy()
    await until(ended)
  }
  await leave(
    () => existsSync(join(store, 'data')),
    () => true,
  )
  t.equal((await parts(id)).length, 1)
  await put(id, 2, pieces[1] as Buffer)
  t.equal((await complete(id, await parts(id))).status, 200)
  t.ok(readFileSync(join(dir, 'f')).equals(Buffer.concat(pieces)), 'what it wrote is not in the file')
})

t.test('a disk that is full while parts come in', async t => {
  const disk = smallDisk(t, 4)
  if (!disk) return void t.pass('mounting is not allowed here: not looked at')
  const { call, dir } = await daemon(t, { env: { TMPDIR: disk } })
  const { start, put, parts, complete } = client(call)
  const id = await start(join(dir, 'f'))
  const pieces = [randomBytes(1024 * 1024), randomBytes(1024 * 1024)]
  await put(id, 1, pieces[0] as Buffer)
  const refused = await put(id, 2, randomBytes(6 * 1024 * 1024))
  t.equal(refused.status, 500)
  t.match(refused.body.error, /ENOSPC/)
  t.equal((await parts(id)).length, 1)
  t.notOk(readdirSync(join(disk, 'multipart-uploads', id)).some(name => name.startsWith('incoming-')))
  t.equal((await put(id, 2, pieces[1] as Buffer)).status, 200, 'what fits is taken')
  t.equal((await complete(id, await parts(id))).status, 200, 'also to another file system')
  t.ok(readFileSync(join(dir, 'f')).equals(Buffer.concat(pieces)))
})

t.test('a target that is full leaves no part of the file, and the upload as it was', async t => {
  const disk = smallDisk(t, 2)
  if (!disk) return void t.pass('mounting is not allowed here: not looked at')
  const { call } = await daemon(t)
  const { start, put, parts, complete } = client(call)
  const id = await start(join(disk, 'f'))
  const pieces = cut(randomBytes(3_500_000), 1_000_000)
  for (const [index, piece] of pieces.entries()) await put(id, index + 1, piece)
  const refused = await complete(id, await parts(id))
  t.equal(refused.status, 500)
  t.match(refused.body.error, /ENOSPC/)
  t.same(readdirSync(disk), [])
  const [first] = await parts(id)
  t.equal((await complete(id, [first])).status, 200, 'completed with what fits')
  t.ok(readFileSync(join(disk, 'f')).equals(pieces[0] as Buffer))
})

t.test(
  'a part that is sent again while the first one is still on its way: that one writes to nothing that counts',
  async t => {
    const { call, dir, port, config } = await daemonServer(t)
    const { start, put, parts, complete } = client(call)
    const id = await start(join(dir, 'f'))
    const size = 2_000_000
    const pieces = [randomBytes(size), randomBytes(size)]
    await put(id, 1, pieces[0] as Buffer)
    const { body, headers } = form(randomBytes(size))
    const slow = request({
      port,
      host: '127.0.0.1',
      method: 'PUT',
      path: `${base}/${id}/part?partNumber=2`,
      headers: { ...headers, 'content-length': body.length },
    })
    const answered = once(slow, 'response')
    slow.write(body.subarray(0, size / 2))
    await until(
      () => existsSync(join(config.tmpDir, 'multipart-uploads', id, 'data')),
      'the first one to have its place',
    )
    await put(id, 2, pieces[1] as Buffer)
    t.equal((await complete(id, await parts(id))).status, 200)
    slow.end(body.subarray(size / 2))
    const [answer] = (await answered) as [IncomingMessage]
    answer.resume()
    t.equal(answer.statusCode, 500, 'the upload was completed meanwhile')
    t.ok(readFileSync(join(dir, 'f')).equals(Buffer.concat(pieces)))
  },
)
