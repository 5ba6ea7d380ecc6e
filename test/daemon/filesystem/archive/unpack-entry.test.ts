import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { encodeHeader, type Header } from '../../../support/tar-header.ts'
import { daemon, daemonServer } from '../../../support/daemon.ts'
import { draftsIn } from '../../../support/drafts.ts'
import { smallDisk } from '../../../support/small-disk.ts'

const at = (path: string) => `/filesystem-archive${encodeURIComponent(path)}`
const root = process.getuid?.() === 0
const plain: Header = { name: 'f', mode: 0o644, uid: 0, gid: 0, size: 0, mtime: 1, type: '0', linkname: '' }

/** An archive of the entries, without its end, which is not asked for. */
const tar = (...entries: [Partial<Header>, string?][]): Buffer =>
  Buffer.concat(
    entries.flatMap(([given, content = '']) => [
      encodeHeader({ ...plain, size: Buffer.byteLength(content), ...given }),
      Buffer.from(content),
      Buffer.alloc((512 - (Buffer.byteLength(content) % 512)) % 512),
    ]),
  )

t.test('the last entry is there when the answer is', async t => {
  const { call, dir } = await daemon(t)
  for (let round = 0; round < 20; round++) {
    const answer = await call('PUT', at(join(dir, `to${round}`)), { body: tar([{ name: 'a/b/c/f' }, 'x']) })
    t.match(answer.body, { entries: 1, bytes: 1 })
    t.equal(readFileSync(join(dir, `to${round}`, 'a/b/c/f'), 'utf8'), 'x')
  }
})

t.test('gzip is recognised however it is cut', async t => {
  const { call, dir } = await daemon(t)
  const bytes = gzipSync(tar([{ name: 'f' }, 'x']))
  const body = Readable.from(Array.from(bytes, byte => Buffer.from([byte])))
  t.match(await call('PUT', at(join(dir, 'to')), { body }), { status: 200, body: { entries: 1 } })
})

t.test('times and modes come back, those of directories too', async t => {
  const { call, dir } = await daemon(t, { files: { from: { d: { f: 'F' }, shut: { g: 'G' } }, to: { d: {} } } })
  const from = join(dir, 'from')
  chmodSync(join(from, 'shut'), 0o555)
  chmodSync(join(from, 'd/f'), 0o600)
  for (const name of ['d/f', 'd', 'shut', 'shut/g']) utimesSync(join(from, name), 1_000_000_000, 1_000_000_000)
  utimesSync(join(dir, 'to/d'), 1_500_000_000, 1_500_000_000)
  const { bytes } = await call('GET', at(from))
  t.equal((await call('PUT', at(join(dir, 'to')), { body: bytes })).status, 200)
  const seconds = (name: string) => Math.floor(statSync(join(dir, 'to', name)).mtimeMs / 1000)
  for (const name of ['d/f', 'shut', 'shut/g']) t.equal(seconds(name), 1_000_000_000, name)
  t.equal(statSync(join(dir, 'to/shut')).mode & 0o777, 0o555)
  t.equal(statSync(join(dir, 'to/d/f')).mode & 0o777, 0o600)
  t.not(seconds('d'), 1_000_000_000, 'a directory that was there is not ours to restore')
})

t.test('hard links stay links, both ways', async t => {
  const { call, dir } = await daemon(t, { files: { from: { a: 'A'.repeat(2000) } } })
  linkSync(join(dir, 'from/a'), join(dir, 'from/b'))
  const { bytes } = await call('GET', at(join(dir, 'from')))
  t.ok(bytes.length < 512 * 2 + 2048 + 1024 + 1, 'the content is told once')
  t.match(execFileSync('tar', ['-tvf', '-'], { input: bytes }).toString(), /^h.* b link to a$/m)
  t.match((await call('PUT', at(join(dir, 'to')), { body: bytes })).body, { entries: 2, bytes: 2000 })
  t.equal(statSync(join(dir, 'to/a')).ino, statSync(join(dir, 'to/b')).ino)
  t.equal((await call('PUT', at(join(dir, 'to')), { body: bytes })).status, 200, 'again, over what is there')
  t.equal(readFileSync(join(dir, 'to/b'), 'utf8'), 'A'.repeat(2000))
  const self = tar([{ name: 'f' }, 'x'], [{ name: 'f', type: '1', linkname: './f' }])
  t.equal((await call('PUT', at(join(dir, 'self')), { body: self })).status, 200)
  t.equal(readFileSync(join(dir, 'self/f'), 'utf8'), 'x', 'a link to itself deletes nothing')
  for (const linkname of ['none', 'd', '/etc/passwd', '../../etc/passwd', ''])
    t.match(
      await call('PUT', at(join(dir, 'bad')), {
        body: tar([{ name: 'd', type: '5' }], [{ name: 'h', type: '1', linkname }]),
      }),
      { status: 400, body: { error: /entry/ } },
      linkname,
    )
})

t.test('odd modes, owners and times go out as they are', async t => {
  const { call, dir } = await daemon(t, { files: { none: 'N', old: 'O', late: 'L' } })
  chmodSync(join(dir, 'none'), 0)
  utimesSync(join(dir, 'old'), new Date(-86_400_000), new Date(-86_400_000))
  utimesSync(join(dir, 'late'), 4_102_444_800, 4_102_444_800)
  if (root) chownSync(join(dir, 'late'), 3_000_000_000, 300_000)
  else chmodSync(join(dir, 'none'), 0o400)
  const { bytes } = await call('GET', at(dir))
  const env = { ...process.env, TZ: 'UTC', LC_ALL: 'C' }
  const listed = execFileSync('tar', ['--numeric-owner', '-tvf', '-'], { input: bytes, env }).toString()
  if (root) t.match(listed, /^---------- .* none$/m)
  t.match(listed, / 1969-12-31 00:00 old$/m)
  t.match(listed, / 2100-01-01 00:00 late$/m)
  if (root) t.match(listed, / 3000000000\/300000 .* late$/m)
  const to = join(dir, 'to')
  const again = tar([{ name: 'old', mtime: -86_400 }], [{ name: 'far', mtime: 2 ** 52 }])
  t.equal((await call('PUT', at(to), { body: again })).status, 200)
  t.ok(Math.abs(statSync(join(to, 'old')).mtimeMs + 86_400_000) <= 1000)
})

t.test('owners are restored when that is asked for', async t => {
  if (!root) return void t.pass('only root can give files away: not looked at')
  const { call, dir } = await daemon(t, { files: { there: { d: {} } } })
  const body = tar(
    [{ name: 'd', type: '5', uid: 1234, gid: 1235, mode: 0o2750 }],
    [{ name: 'd/run', uid: 1234, gid: 1235, mode: 0o4755 }, 'x'],
    [{ name: 'd/link', type: '2', linkname: 'run', uid: 1236, gid: 1237 }],
  )
  t.equal((await call('PUT', at(join(dir, 'plain')), { body })).status, 200)
  t.match(lstatSync(join(dir, 'plain/d/run')), { uid: 0, gid: 0 })
  t.equal(statSync(join(dir, 'plain/d/run')).mode & 0o7777, 0o755 & ~process.umask())
  for (const to of ['whole', 'there']) {
    t.equal((await call('PUT', `${at(join(dir, to))}?owners=true`, { body })).status, 200)
    t.match(lstatSync(join(dir, to, 'd')), { uid: 1234, gid: 1235 })
    t.match(lstatSync(join(dir, to, 'd/run')), { uid: 1234, gid: 1235 })
    t.match(lstatSync(join(dir, to, 'd/link')), { uid: 1236, gid: 1237 })
    t.equal(statSync(join(dir, to, 'd/run')).mode & 0o7777, 0o4755)
    t.equal(statSync(join(dir, to, 'd')).mode & 0o7777, 0o2750)
  }
})

t.test('a workload user gives nothing away', async t => {
  if (!root) return void t.pass('only root can take another identity: not looked at')
  const theirs = mkdtempSync(join(tmpdir(), 'hutch-user-'))
  t.teardown(() => rmSync(theirs, { recursive: true }))
  chownSync(theirs, 10_001, 10_001)
  const { call } = await daemon(t, { argv: ['--user', '10001'] })
  const body = tar([{ name: 'f', uid: 0, gid: 0, mode: 0o4755 }, 'x'])
  t.match(await call('PUT', `${at(theirs)}?owners=true`, { body }), { status: 422, body: { error: /EPERM.*chown/ } })
  t.same(readdirSync(theirs), [], 'nor does it stay under another owner')
  const own = tar([{ name: 'f', uid: 10_001, gid: 10_001, mode: 0o4755 }, 'x'])
  t.equal((await call('PUT', `${at(theirs)}?owners=true`, { body: own })).status, 200, 'what is theirs is')
  t.equal((await call('PUT', at(theirs), { body })).status, 200)
  t.equal(statSync(join(theirs, 'f')).uid, 10_001)
})

t.test('files over directories and directories over files', async t => {
  const { call, dir } = await daemon(t, { files: { to: { d: { x: 'X' }, f: 'F' } } })
  symlinkSync('d', join(dir, 'to/l'))
  const put = (...entries: Parameters<typeof tar>) => call('PUT', at(join(dir, 'to')), { body: tar(...entries) })
  t.match(await put([{ name: 'd' }, 'file']), { status: 422, body: { error: /EISDIR/ } })
  t.match(await put([{ name: 'd', type: '2', linkname: 'f' }]), { status: 422, body: { error: /EISDIR/ } })
  t.match(await put([{ name: 'f', type: '5' }]), { status: 400, body: { error: /is a file, not a directory/ } })
  t.match(await put([{ name: 'f/x' }, 'x']), { status: 400, body: { error: /is a file, not a directory/ } })
  t.match(await put([{ name: 'l', type: '5' }]), { status: 400, body: { error: /is a symlink, not a directory/ } })
  for (const name of ['', '.', './']) t.match(await put([{ name, type: '7' }, 'x']), { status: 400 }, `"${name}"`)
  for (const name of ['/abs', '..', 'a/../../b']) t.match(await put([{ name }, 'x']), { status: 400 }, name)
  t.match(await put([{ name: 'fifo', type: '6' }], [{ name: 'dev', type: '3' }], [{ name: 'z' }, 'z']), {
    status: 200,
    body: { entries: 1 },
  })
  t.same(readdirSync(join(dir, 'to')).sort(), ['d', 'f', 'l', 'z'])
  t.equal(readFileSync(join(dir, 'to/d/x'), 'utf8'), 'X')
  t.equal(readFileSync(join(dir, 'to/f'), 'utf8'), 'F')
})

t.test('a large file with holes takes no more than it holds', async t => {
  const { url, dir } = await daemonServer(t)
  mkdirSync(join(dir, 'from'))
  writeFileSync(join(dir, 'from/big'), 'begin')
  truncateSync(join(dir, 'from/big'), 3 * 1024 ** 3)
  const body = execFileSync('tar', ['--format=pax', '-S', '-C', join(dir, 'from'), '-c', 'big'])
  const answer = await fetch(`${url}${at(join(dir, 'to'))}`, { method: 'PUT', body: new Uint8Array(body) })
  t.match(await answer.json(), { entries: 1, bytes: 3 * 1024 ** 3 })
  const { size, blocks } = statSync(join(dir, 'to/big'))
  t.equal(size, 3 * 1024 ** 3)
  t.ok(blocks < 1000)
})

t.test('a client that goes away leaves no part of a file', async t => {
  const { url, dir, call } = await daemonServer(t, { files: { to: { half: 'old' } } })
  const body = tar([{ name: 'whole' }, 'x'], [{ name: 'half', size: 10_000_000 }])
  const sent = request(`${url}${at(join(dir, 'to'))}`, { method: 'PUT' })
  sent.on('error', () => {})
  sent.write(body)
  sent.write(Buffer.alloc(2_000_000))
  const begun = () => draftsIn(join(dir, 'to')).length > 0
  for (const end = performance.now() + 30_000; !begun() && performance.now() < end; )
    await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(begun(), 'it was being written')
  sent.destroy()
  for (const end = performance.now() + 30_000; begun() && performance.now() < end; )
    await new Promise(resolve => setTimeout(resolve, 5))
  t.same(readdirSync(join(dir, 'to')), ['half', 'whole'])
  t.equal(readFileSync(join(dir, 'to/half'), 'utf8'), 'old', 'the file that was there stays')
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('a disk that is full', async t => {
  const disk = smallDisk(t, 1)
  if (!disk) return void t.pass('no right to mount: not looked at')
  const { call } = await daemon(t)
  const body = tar([{ name: 'small' }, 'x'], [{ name: 'large' }, 'y'.repeat(3_000_000)])
  t.match(await call('PUT', at(disk), { body }), { status: 422, body: { error: /ENOSPC/ } })
  t.same(readdirSync(disk), ['small'], 'what was not whole is gone')
  t.equal((await call('PUT', at(disk), { body: tar([{ name: 'after' }, 'x']) })).status, 200)
})
