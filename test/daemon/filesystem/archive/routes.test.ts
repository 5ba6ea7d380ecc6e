import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack, type Header as FullHeader } from 'tar-stream'
import t from 'tap'
import { daemon, daemonServer } from '../../../support/daemon.ts'

type Header = Partial<FullHeader> & { name: string }

const at = (path: string) => `/filesystem-archive${encodeURIComponent(path)}`

const tar = (...entries: [Header, string?][]): Promise<Buffer> => {
  const archive = pack()
  for (const [header, content] of entries) archive.entry(header, content ?? '')
  archive.finalize()
  return buffer(archive as unknown as AsyncIterable<Buffer>)
}

/** Names below a directory with what they are. */
const shape = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' }).map(name => {
      const stat = lstatSync(join(dir, name))
      if (stat.isSymbolicLink()) return [name, `-> ${readlinkSync(join(dir, name))}`]
      return [name, stat.isDirectory() ? 'dir' : readFileSync(join(dir, name)).toString('base64')]
    }),
  )

const fill = (dir: string) => {
  mkdirSync(join(dir, 'sub/empty'), { recursive: true })
  writeFileSync(join(dir, 'a.txt'), 'A')
  writeFileSync(join(dir, 'nothing'), '')
  writeFileSync(join(dir, 'sub/big.bin'), randomBytes(3_000_001))
  writeFileSync(join(dir, `sub/${'long'.repeat(50)} ü`), 'L')
  symlinkSync('../a.txt', join(dir, 'sub/link'))
  symlinkSync('/nowhere', join(dir, 'dangling'))
  writeFileSync(join(dir, 'run'), '#!')
  chmodSync(join(dir, 'run'), 0o755)
}

t.test('a directory goes out as tar and comes back the same, gzip or not, read by tar itself', async t => {
  const { url, dir } = await daemonServer(t)
  fill(join(dir, 'from'))
  execFileSync('mkfifo', [join(dir, 'from/fifo')])
  const wanted = shape(join(dir, 'from/sub'))
  for (const gzip of [false, true]) {
    const answer = await fetch(`${url}${at(join(dir, 'from'))}?gzip=${gzip}`)
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), gzip ? 'application/gzip' : 'application/x-tar')
    t.match(answer.headers.get('content-disposition'), gzip ? '"from.tar.gz"' : '"from.tar"')
    const bytes = Buffer.from(await answer.arrayBuffer())
    const native = join(dir, `native-${gzip}`)
    mkdirSync(native)
    execFileSync('tar', [gzip ? '-xzf' : '-xf', '-', '-C', native], { input: bytes })
    t.same(shape(join(native, 'sub')), wanted, 'tar unpacks it')
    t.notOk(existsSync(join(native, 'fifo')), 'a fifo is passed over')
    const back = join(dir, `back-${gzip}`)
    const put = await fetch(`${url}${at(back)}`, { method: 'PUT', body: new Uint8Array(bytes) })
    t.match(await put.json(), { path: back, message: /success/, entries: 9, bytes: 3_000_001 + 4 })
    t.same(shape(back), shape(native), 'and we do')
    t.equal(statSync(join(back, 'run')).mode & 0o777, 0o755 & ~process.umask())
  }
})

t.test('what tar makes is unpacked over what is there', async t => {
  const { call, dir } = await daemon(t, { files: { to: { 'a.txt': 'old', other: 'stays' } } })
  fill(join(dir, 'src'))
  execFileSync('ln', [join(dir, 'src/a.txt'), join(dir, 'src/hard')])
  const body = execFileSync('tar', ['-czf', '-', '-C', join(dir, 'src'), '.'], { maxBuffer: 1e8 })
  t.equal((await call('PUT', '/filesystem-archive/to', { body })).status, 200)
  t.equal(readFileSync(join(dir, 'to/a.txt'), 'utf8'), 'A')
  t.equal(readFileSync(join(dir, 'to/hard'), 'utf8'), 'A')
  t.equal(readFileSync(join(dir, 'to/other'), 'utf8'), 'stays')
  t.same(shape(join(dir, 'to/sub')), shape(join(dir, 'src/sub')))
})

t.test('nothing gets out of the directory', async t => {
  const { call, dir } = await daemon(t, { files: { safe: 'safe', d: {}, to: {} } })
  const link: Header = { name: 'out', type: 'symlink', linkname: '..' }
  const attacks: [string, [Header, string?][]][] = [
    ['parent', [[{ name: '../safe' }, 'X']]],
    ['parent inside', [[{ name: 'a/../../safe' }, 'X']]],
    ['absolute', [[{ name: join(dir, 'safe') }, 'X']]],
    ['through a link', [[link], [{ name: 'out/safe' }, 'X']]],
    ['directory through a link', [[link], [{ name: 'out/new', type: 'directory' }]]],
    [
      'directory onto a link',
      [[{ ...link, linkname: '../d' }], [{ name: 'out', type: 'directory' }], [{ name: 'out/x' }, 'X']],
    ],
    ['link through a link', [[link], [{ name: 'out/safe', type: 'symlink', linkname: 'x' }]]],
    ['hard link out', [[{ name: 'h', type: 'link', linkname: '../safe' }], [{ name: 'h' }, 'X']]],
    ['hard link through a link', [[link], [{ name: 'h', type: 'link', linkname: 'out/safe' }]]],
    [
      'hard link to a link',
      [[{ name: 's', type: 'symlink', linkname: '../safe' }], [{ name: 'h', type: 'link', linkname: 's' }]],
    ],
  ]
  for (const [what, entries] of attacks) {
    const answer = await call('PUT', '/filesystem-archive/to', { body: await tar(...entries) })
    // An absolute name loses its slash, as with tar.
    t.match(answer.status, what === 'absolute' ? 200 : /^(400|422)$/, `${what}: ${answer.text}`)
    t.equal(readFileSync(join(dir, 'safe'), 'utf8'), 'safe', what)
    t.same(readdirSync(join(dir, 'd')), [], what)
    t.same(readdirSync(dir).sort(), ['d', 'safe', 'to'], what)
    execFileSync('rm', ['-rf', join(dir, 'to')])
    mkdirSync(join(dir, 'to'))
  }
  const replaced = await call('PUT', '/filesystem-archive/to', {
    body: await tar([{ name: 'f', type: 'symlink', linkname: '../safe' }], [{ name: 'f' }, 'X']),
  })
  t.equal(replaced.status, 200, 'a file takes the place of a link')
  t.equal(readFileSync(join(dir, 'safe'), 'utf8'), 'safe')
  t.equal(readFileSync(join(dir, 'to/f'), 'utf8'), 'X')
})

t.test('what is no archive, or cut short', async t => {
  const { call, dir } = await daemon(t, { files: { f: 'x' } })
  const whole = await tar([{ name: 'a' }, 'x'.repeat(5000)])
  for (const [what, body] of [
    ['text', 'hello '.repeat(200)],
    ['cut', whole.subarray(0, 2000)],
    ['cut gzip', gzipSync(whole).subarray(0, 30)],
    ['broken gzip', Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(600, 7)])],
  ] as const)
    t.match(await call('PUT', '/filesystem-archive/to', { body }), { status: 400, body: { error: /archive/ } }, what)
  t.notOk(existsSync(join(dir, 'to/a')), 'a file that is not whole does not stay')
  t.equal(
    (await call('PUT', '/filesystem-archive/empty', { body: '' })).status,
    200,
    'an empty body makes the directory',
  )
  t.ok(statSync(join(dir, 'empty')).isDirectory())
  t.equal((await call('PUT', '/filesystem-archive/f', { body: whole })).status, 422, 'a file is there')
})

t.test('one file, a link to a directory, errors', async t => {
  const { call, dir } = await daemon(t, { files: { f: 'x', d: { a: 'A' } } })
  symlinkSync('d', join(dir, 'l'))
  const names = async (path: string) => {
    const answer = await call('GET', `/filesystem-archive/${path}`)
    return execFileSync('tar', ['-tf', '-'], { input: answer.bytes }).toString().trim().split('\n')
  }
  t.same(await names('f'), ['f'])
  t.same(await names('l'), ['a'])
  t.same(await names(`~/../${basename(dir)}/d`), ['a'])
  t.equal((await call('GET', '/filesystem-archive/nope')).status, 404)
  t.equal((await call('GET', `/filesystem-archive${encodeURIComponent('/dev/null')}`)).status, 422)
  t.equal((await call('GET', '/filesystem-archive/f/x')).status, 422)
})

t.test("the kernel's own files are no archive: it is said before anything is sent, also through a link", async t => {
  const { call, dir } = await daemon(t, { files: { mine: { file: 'mine' } } })
  symlinkSync('/proc/self', join(dir, 'link'))
  for (const path of ['/proc', '/proc/self/status', '/sys/kernel', join(dir, 'link')]) {
    const { status, body } = await call('GET', at(path))
    t.equal(status, 422, path)
    t.match(JSON.stringify(body), /the kernel's own/)
  }
  t.equal((await call('GET', at(join('/proc/self/root', dir, 'mine')))).status, 200)
})
