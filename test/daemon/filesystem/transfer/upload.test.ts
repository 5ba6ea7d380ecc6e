import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { daemon, daemonServer } from '../../../support/daemon.ts'
import { draftsIn } from '../../../support/drafts.ts'
import { smallDisk } from '../../../support/small-disk.ts'

const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const octets = { 'content-type': 'application/octet-stream' }

interface Part {
  readonly name: string
  readonly filename?: string
  readonly value: string | Buffer
}

/** A form body, parts in the given order. */
const form = (...parts: Part[]): { body: Buffer; headers: Record<string, string> } => {
  const pieces = parts.flatMap(({ name, filename, value }) => [
    `--XyZ\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
    value,
    '\r\n',
  ])
  return {
    body: Buffer.concat([...pieces, '--XyZ--\r\n'].map(piece => Buffer.from(piece as string))),
    headers: { 'content-type': 'multipart/form-data; boundary=XyZ' },
  }
}
const file = (value: string | Buffer, filename = 'x.bin'): Part => ({ name: 'file', filename, value })

/** Waits, at most 30 s, until `what` holds. */
const until = async (what: () => boolean): Promise<void> => {
  for (const end = performance.now() + 30_000; !what() && performance.now() < end; )
    await new Promise(resolve => setImmediate(resolve))
  if (!what()) throw new Error('waited in vain')
}

t.test('a form as clients send it: file, permissions, path', async t => {
  const { call, dir } = await daemon(t)
  const content = Buffer.from([0, 1, 2, 255, 254, 13, 10, 45, 45, 88, 200, 7])
  const path = join(dir, 'up/b.bin')
  const answer = await call(
    'PUT',
    `/filesystem${encodeURIComponent(path)}`,
    form(file(content), { name: 'permissions', value: '0600' }, { name: 'path', value: '/else/where' }),
  )
  t.same(answer.body, { path, message: 'Binary file uploaded successfully' })
  t.ok(readFileSync(path).equals(content))
  t.equal(statSync(path).mode & 0o777, 0o644 & ~process.umask(), 'permissions behind the file come too late')
  const read = await call('GET', `/filesystem${encodeURIComponent(path)}`)
  t.equal(read.body.size, 12)
  t.ok(read.body.content)
})

t.test('permissions before the file count; the first file counts; other parts are passed over', async t => {
  const { call, dir } = await daemon(t)
  const answer = await call(
    'PUT',
    '/filesystem/f',
    form(
      { name: 'permissions', value: '0750' },
      { name: 'other', filename: 'o', value: randomBytes(200_000) },
      file('first'),
      file('second'),
      { name: 'permissions', value: '0600' },
    ),
  )
  t.equal(answer.status, 200)
  t.equal(readFileSync(join(dir, 'f'), 'utf8'), 'first')
  t.equal(statSync(join(dir, 'f')).mode & 0o777, 0o750 & ~process.umask())
})

t.test('what is no form, or lacks the file, is 400 and changes nothing', async t => {
  const { call, dir } = await daemon(t, { files: { f: 'old' } })
  const headers = { 'content-type': 'multipart/form-data; boundary=XyZ' }
  const whole = form(file('content that is long enough')).body
  const cases: [string, { body: string | Buffer; headers: Record<string, string> }][] = [
    ['no boundary', { body: 'x', headers: { 'content-type': 'multipart/form-data' } }],
    ['no form', { body: 'hello', headers }],
    ['empty', { body: '', headers }],
    ['no file', form({ name: 'permissions', value: '0644' })],
    ['a file without a name', form({ name: 'file', value: 'x' })],
    ['bad permissions', form({ name: 'permissions', value: 'rwx' }, file('x'))],
  ]
  for (const [what, options] of cases) {
    const answer = await call('PUT', '/filesystem/f', options)
    t.equal(answer.status, 400, what)
    t.ok(answer.body.error)
    t.equal(readFileSync(join(dir, 'f'), 'utf8'), 'old', what)
  }
  t.equal((await call('PUT', '/filesystem/cut', { body: whole.subarray(0, -14), headers })).status, 400, 'cut short')
  t.equal((await call('PUT', '/filesystem/f', { body: whole.subarray(0, -14), headers })).status, 400, 'cut short')
  t.equal(
    (await call('PUT', '/filesystem/f', { body: whole.subarray(0, -4), headers })).status,
    400,
    'no last boundary',
  )
  t.equal(readFileSync(join(dir, 'f'), 'utf8'), 'old')
  t.equal((await call('PUT', '/filesystem/f', form(file('x'), { name: 'permissions', value: '?' }))).status, 400)
  t.equal(readFileSync(join(dir, 'f'), 'utf8'), 'old', 'the file was in order, the form is not')
  t.same(readdirSync(dir), ['f'])
  t.equal((await call('PUT', '/filesystem/f/x', form(file('x')))).status, 422, 'a file in the middle')
  t.equal((await call('PUT', '/filesystem/', form(file('x')))).status, 422, 'a directory')
})

t.test('a form and JSON of the same text read back equal', async t => {
  const { call } = await daemon(t)
  const text = 'line ü\n'.repeat(100_000)
  await call('PUT', '/filesystem/a', { body: { content: text } })
  await call('PUT', '/filesystem/b', form(file(text)))
  await call('PUT', '/filesystem/c', { body: text, headers: octets })
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(name => call('GET', `/filesystem/${name}`)))
  t.ok(a?.body.content === text && b?.body.content === text && c?.body.content === text)
})

t.test('a large form is written as it comes, with memory that stays flat', async t => {
  const { url, dir } = await daemonServer(t)
  const piece = randomBytes(1024 * 1024)
  const pieces = 250
  const hash = createHash('sha256')
  const around = form({ name: 'permissions', value: '0640' }, file('@')).body.toString('latin1').split('@')
  function* body() {
    yield Buffer.from(around[0] as string)
    for (let index = 0; index < pieces; index++) {
      hash.update(piece)
      yield piece
    }
    yield Buffer.from(around[1] as string)
  }
  let peak = 0
  const before = process.memoryUsage().external
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().external - before)
  }, 5)
  t.teardown(() => clearInterval(watch))
  const headers = { 'content-type': 'multipart/form-data; boundary=XyZ' }
  const asked = request(`${url}/filesystem/one.bin`, { method: 'PUT', headers })
  Readable.from(body()).pipe(asked)
  const [answer] = await once(asked, 'response')
  clearInterval(watch)
  answer.resume()
  t.equal(answer.statusCode, 200)
  t.equal(
    execFileSync('sha256sum', [join(dir, 'one.bin')])
      .toString()
      .slice(0, 64),
    hash.digest('hex'),
  )
  // Chunks already written wait for the collector, which is why this is no smaller.
  t.ok(peak < 180 * 1024 * 1024, `${Math.round(peak / 1024 / 1024)} MiB at most for 250 MiB`)
})

t.test('a download piped into an upload copies', async t => {
  const { url, dir } = await daemonServer(t)
  const content = randomBytes(7_654_321)
  writeFileSync(join(dir, 'one.bin'), content)
  const asked = request(`${url}/filesystem/one.bin`, { headers: { accept: 'application/octet-stream' } }).end()
  const [source] = await once(asked, 'response')
  const [before, after] = form(file('@')).body.toString('latin1').split('@')
  const put = request(`${url}/filesystem/two.bin`, {
    method: 'PUT',
    headers: { 'content-type': 'multipart/form-data; boundary=XyZ' },
  })
  put.write(before)
  source.pipe(put, { end: false })
  source.on('end', () => put.end(after))
  const [answer] = await once(put, 'response')
  answer.resume()
  t.equal(answer.statusCode, 200)
  t.equal(sha(readFileSync(join(dir, 'two.bin'))), sha(content))
})

t.test('raw bytes replace a file in one step', async t => {
  const { call, dir } = await daemon(t, { files: { old: 'old content', d: {} } })
  const ino = statSync(join(dir, 'old')).ino
  t.match((await call('PUT', '/filesystem/old', { body: 'new', headers: octets })).body, {
    path: 'old',
    message: /success/,
  })
  t.equal(readFileSync(join(dir, 'old'), 'utf8'), 'new')
  t.not(statSync(join(dir, 'old')).ino, ino, 'another file under the name')
  t.equal((await call('PUT', '/filesystem/x/y/z?permissions=0700', { body: 'x', headers: octets })).status, 200)
  t.equal(statSync(join(dir, 'x/y/z')).mode & 0o777, 0o700)
  t.equal((await call('PUT', '/filesystem/x/y/z', { body: '', headers: octets })).status, 200)
  t.match(statSync(join(dir, 'x/y/z')), { size: 0 })
  t.equal(statSync(join(dir, 'x/y/z')).mode & 0o777, 0o700, 'keeps the mode of what it replaces')
  symlinkSync('old', join(dir, 'link'))
  t.equal((await call('PUT', '/filesystem/link', { body: 'by link', headers: octets })).status, 200)
  t.equal(readFileSync(join(dir, 'old'), 'utf8'), 'by link')
  t.equal((await call('PUT', '/filesystem/d', { body: 'x', headers: octets })).status, 422)
  t.equal((await call('PUT', '/filesystem/old?permissions=rwx', { body: 'x', headers: octets })).status, 400)
  t.equal((await call('PUT', `/filesystem/${'n'.repeat(250)}`, { body: 'x', headers: octets })).status, 200)
  t.equal((await call('PUT', `/filesystem/${'n'.repeat(256)}`, { body: 'x', headers: octets })).status, 422)
  t.same(draftsIn(dir), [], 'nothing is left over')
})

t.test('a client that goes away mid-way leaves nothing, or the old file', async t => {
  const { url, dir } = await daemonServer(t)
  writeFileSync(join(dir, 'raw'), 'old')
  const start = form(file('x'.repeat(3_000_000))).body.subarray(0, 2_000_000)
  const leave = async (name: string, headers: Record<string, string>, begun: () => boolean) => {
    const asked = request(`${url}/filesystem/${name}`, {
      method: 'PUT',
      headers: { ...headers, 'content-length': 9_000_000 },
    })
    asked.on('error', () => {})
    asked.write(start)
    await until(begun)
    asked.destroy()
  }
  const partial = () => draftsIn(dir).length > 0
  for (const headers of [octets, { 'content-type': 'multipart/form-data; boundary=XyZ' }]) {
    await leave('raw', headers, partial)
    await until(() => !partial())
    await leave('new', headers, partial)
    await until(() => !partial())
    t.equal(readFileSync(join(dir, 'raw'), 'utf8'), 'old')
    t.same(readdirSync(dir), ['raw'])
  }
})

t.test('a full disk is 422 with the reason, and leaves no part', async t => {
  const disk = smallDisk(t, 2)
  if (!disk) return void t.pass('mounting is not allowed here: not looked at')
  const { url } = await daemonServer(t)
  const big = 'x'.repeat(6 * 1024 * 1024)
  const target = `${url}/filesystem${encodeURIComponent(join(disk, 'big'))}`
  const forms = form(file(big))
  const tries: [string, RequestInit][] = [
    ['JSON', { body: JSON.stringify({ content: big }) }],
    ['form', { body: new Uint8Array(forms.body), headers: forms.headers }],
    ['raw', { body: big, headers: octets }],
  ]
  for (const [how, init] of tries) {
    const answer = await fetch(target, { method: 'PUT', ...init })
    t.equal(answer.status, 422, how)
    t.match((await answer.json()) as object, { error: /ENOSPC.*no space left/ })
    t.same(readdirSync(disk), [], `${how} leaves nothing`)
  }
  t.equal((await fetch(target, { method: 'PUT', body: '{"content":"fits"}' })).status, 200, 'and then it goes on')
})
