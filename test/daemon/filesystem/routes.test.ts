import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createFilesystem } from '../../../daemon/filesystem/index.ts'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'
import { readContents } from '../../../daemon/filesystem/tree-contents.ts'
import { daemon } from '../../support/daemon.ts'
import { smallDisk } from '../../support/small-disk.ts'

const at = (path: string) => `/filesystem${encodeURIComponent(path)}`

t.test('write, read back, list, make a directory, write into it, delete', async t => {
  const { call, dir } = await daemon(t)
  const path = join(dir, 'deep/er/a.txt')
  const wrote = await call('PUT', at(path), { body: { content: 'hello ü' } })
  t.equal(wrote.status, 200)
  t.equal(wrote.body.path, path)
  t.match(wrote.body.message, /success/)
  t.equal(statSync(join(dir, 'deep')).mode & 0o777, 0o755 & ~process.umask())

  const read = await call('GET', at(path))
  t.match(read.headers, { 'content-type': /^application\/json/, 'access-control-allow-origin': '*' })
  t.match(read.body, { path, name: 'a.txt', content: 'hello ü', size: 8, permissions: '644' })
  t.match(read.body.lastModified, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/)
  t.equal(read.body.owner, execFileSync('id', ['-un']).toString().trim())
  t.equal(read.body.group, execFileSync('id', ['-gn']).toString().trim())

  const made = await call('PUT', at(join(dir, 'deep/d')), { body: { isDirectory: true } })
  t.match(made.body, { path: join(dir, 'deep/d'), message: /Directory created successfully/ })
  t.equal((await call('PUT', at(join(dir, 'deep/d')), { body: { isDirectory: true } })).status, 200, 'again is fine')
  t.match((await call('PUT', at(join(dir, 'deep/d/x')), { body: { content: '1' } })).body.message, /success/)

  const list = await call('GET', at(join(dir, 'deep')))
  t.same(list.body, {
    path: join(dir, 'deep'),
    name: 'deep',
    files: [],
    subdirectories: [
      { path: join(dir, 'deep/d'), name: 'd' },
      { path: join(dir, 'deep/er'), name: 'er' },
    ],
  })

  t.equal((await call('DELETE', at(join(dir, 'deep')))).status, 422, 'not empty')
  t.equal((await call('DELETE', `${at(join(dir, 'deep'))}?recursive=false`)).status, 422)
  t.equal((await call('DELETE', `${at(join(dir, 'deep'))}?recursive=1`)).status, 422, 'only the exact word counts')
  t.match((await call('DELETE', at(path))).body, { path, message: 'File deleted successfully' })
  const gone = await call('DELETE', `${at(join(dir, 'deep'))}?recursive=true`)
  t.match(gone.body, { path: join(dir, 'deep'), message: 'Directory deleted successfully' })
  t.notOk(existsSync(join(dir, 'deep')))
})

t.test('relative paths begin in the working directory and stay relative in answers', async t => {
  const { call, dir } = await daemon(t, { files: { src: { 'a.txt': 'A' } } })
  t.match((await call('GET', '/filesystem/src/a.txt')).body, { path: 'src/a.txt', content: 'A' })
  t.match((await call('GET', '/filesystem/src')).body, { path: 'src', files: [{ path: 'src/a.txt', name: 'a.txt' }] })
  t.match((await call('GET', '/filesystem/')).body, { path: dir, subdirectories: [{ path: join(dir, 'src') }] })
  t.equal((await call('GET', '/filesystem')).headers['location'], '/filesystem/')
  t.equal((await call('PUT', '/filesystem/b', { body: { content: 'B' } })).body.path, 'b')
  t.equal(readFileSync(join(dir, 'b'), 'utf8'), 'B')
  t.equal((await call('GET', '/filesystem/src%2Fa.txt')).status, 404, 'an encoded slash makes it absolute')
  t.equal((await call('PUT', '/filesystem/~/h', { body: { content: 'H' } })).status, 200)
  t.equal(readFileSync(join(dir, '../home/h'), 'utf8'), 'H')
})

t.test('errors: which, and that they say why', async t => {
  const { call, dir } = await daemon(t, { files: { 'a.txt': 'A', full: { x: '' } } })
  const absent = await call('GET', at(join(dir, 'nope')))
  t.equal(absent.status, 404)
  t.match(absent.body.error, /not found.*no such file or directory/)
  t.equal((await call('GET', at(join(dir, 'a.txt/below')))).status, 500, 'a file in the middle')
  t.equal((await call('GET', at(`${dir}/a%00b`))).status, 404, 'a percent sign is just a name')
  t.equal((await call('GET', `/filesystem/a%00b`)).status, 400, 'NUL')
  for (const path of ['100%', '%zz', 'a%2', '%2Ftmp%2F100%']) {
    const sent = await call('PUT', `/filesystem/${path}`, { body: { content: 'x' } })
    t.match(sent, { status: 400, body: { error: /percent sign/ } }, path)
  }
  t.equal((await call('GET', `/filesystem/${'n'.repeat(300)}`)).status, 400, 'a name that no file can have')
  const deleted = await call('DELETE', at(join(dir, 'nope')))
  t.equal(deleted.status, 404)
  t.match(deleted.body.error, /not found/)
  t.equal((await call('PUT', at(join(dir, 'full')), { body: { content: 'x' } })).status, 422, 'a directory is there')
  t.equal((await call('PUT', at(join(dir, 'a.txt/x')), { body: { content: 'x' } })).status, 422)
  t.equal((await call('PUT', at(join(dir, 'a.txt')), { body: { isDirectory: true } })).status, 422)
  for (const [body, why] of [
    ['{', 'not JSON'],
    ['', 'empty'],
    ['{"content":5}', 'a number as content'],
    ['{"isDirectory":"yes"}', 'a text as flag'],
    ['[]', 'a list'],
  ] as const) {
    const answer = await call('PUT', '/filesystem/bad', { body })
    t.equal(answer.status, 400, why)
    t.match(answer.body.error, /^invalid request body/, why)
  }
  for (const permissions of ['0o644', '9', '-1', 'rw', '77777'])
    t.equal((await call('PUT', '/filesystem/bad', { body: { content: '', permissions } })).status, 400, permissions)
  t.notOk(existsSync(join(dir, 'bad')), 'nothing was changed')
  t.equal((await call('DELETE', at('/'), {})).status, 422, 'the root stays')
})

t.test('permissions: a new file gets them, an old one keeps its own', async t => {
  const { call, dir } = await daemon(t)
  await call('PUT', '/filesystem/run', { body: { content: '1', permissions: '0755' } })
  t.equal(statSync(join(dir, 'run')).mode & 0o777, 0o755 & ~process.umask())
  await call('PUT', '/filesystem/run', { body: { content: '22', permissions: '0600' } })
  t.equal(statSync(join(dir, 'run')).mode & 0o777, 0o755 & ~process.umask())
  await call('PUT', '/filesystem/d', { body: { isDirectory: true, permissions: '700' } })
  t.equal(statSync(join(dir, 'd')).mode & 0o777, 0o700)
  t.equal((await call('PUT', '/filesystem/empty', { body: {} })).status, 200)
  t.equal(statSync(join(dir, 'empty')).size, 0)
  t.equal((await call('PUT', '/filesystem/extra', { body: { content: 'x', cwd: '/' } })).status, 200, 'unknown fields')
})

t.test('of several writers at once one wins, with all of its content', async t => {
  const { call, dir } = await daemon(t)
  const contents = ['a'.repeat(10), 'b'.repeat(100_000), 'c'.repeat(3_000), 'd'.repeat(70_000), '']
  for (let round = 0; round < 60; round++) {
    const sent = contents.map(content => call('PUT', '/filesystem/race', { body: { content } }))
    for (const { status } of await Promise.all(sent)) if (status !== 200) t.fail(`status ${status}`)
    const { length, 0: first } = readFileSync(join(dir, 'race'), 'utf8')
    if (!contents.some(content => content.length === length && content[0] === first)) t.fail(`${length} of ${first}`)
  }
  t.ok(existsSync(join(dir, 'race')))
})

t.test('links: the content of the target, the owner of the link, deletion of the link', async t => {
  const { call, dir } = await daemon(t, { files: { 'a.txt': 'A', d: { x: 'X' } } })
  symlinkSync('a.txt', join(dir, 'file-link'))
  symlinkSync('d', join(dir, 'dir-link'))
  symlinkSync('nowhere', join(dir, 'dangling'))
  symlinkSync('loop', join(dir, 'loop'))
  t.match((await call('GET', '/filesystem/file-link')).body, { content: 'A', permissions: '644' })
  t.match((await call('GET', '/filesystem/dir-link')).body, { path: 'dir-link', files: [{ path: 'dir-link/x' }] })
  const { files, subdirectories } = (await call('GET', '/filesystem/')).body
  t.same(
    files.map((file: { name: string }) => file.name),
    ['a.txt', 'dangling', 'dir-link', 'file-link', 'loop'],
    'links are files of a listing, sorted by name',
  )
  t.equal(files[1].permissions, '1000000777')
  t.same(
    subdirectories.map((one: { name: string }) => one.name),
    ['d'],
  )
  t.equal((await call('GET', '/filesystem/dangling')).status, 404)
  t.match(await call('GET', '/filesystem/loop'), { status: 422, body: { error: /ELOOP/ } })
  t.match(await call('GET', '/filesystem/loop?download=true'), { status: 422, body: { error: /ELOOP/ } })
  t.match(await call('GET', '/filesystem/loop/x'), { status: 422, body: { error: /ELOOP/ } })
  for (const link of ['dangling', 'loop']) {
    t.match((await call('DELETE', `/filesystem/${link}`)).body, { message: /^File deleted/ }, link)
    t.equal((await call('DELETE', `/filesystem/${link}`)).status, 404, 'it is gone')
  }
  symlinkSync('nowhere', join(dir, 'dangling'))
  t.equal((await call('DELETE', '/filesystem/dangling?recursive=true')).status, 200)
  t.equal((await call('DELETE', `/filesystem/tree${dir}/dangling`)).status, 422, 'no directory')
  t.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'A', 'what a link pointed to stays')
  t.match((await call('DELETE', '/filesystem/dir-link?recursive=true')).body.message, /Directory deleted/)
  t.ok(existsSync(join(dir, 'd/x')), 'what the link pointed to stays')
  symlinkSync('d', join(dir, 'dir-link'))
  t.equal((await call('DELETE', '/filesystem/dir-link')).status, 200)
  t.ok(existsSync(join(dir, 'd/x')))
  t.match((await call('DELETE', '/filesystem/file-link')).body.message, /File deleted/)
  t.ok(existsSync(join(dir, 'a.txt')))
})

t.test('deleting a tree does not follow links out of it', async t => {
  const { call, dir } = await daemon(t, { files: { keep: { x: 'X' }, go: { y: 'Y' } } })
  symlinkSync(join(dir, 'keep'), join(dir, 'go/out'))
  t.equal((await call('DELETE', '/filesystem/go?recursive=true')).status, 200)
  t.notOk(existsSync(join(dir, 'go')))
  t.ok(existsSync(join(dir, 'keep/x')))
})

t.test('bytes that are no UTF-8 show as replacement characters, with the true size', async t => {
  const { call, dir } = await daemon(t)
  writeFileSync(join(dir, 'b.bin'), Buffer.from([0xff, 0x00, 0x41, 0xfe]))
  t.match((await call('GET', '/filesystem/b.bin')).body, { size: 4, content: '\ufffd\0A\ufffd' })
})

t.test('fifos, sockets, devices and files of /proc do not hold a request up', async t => {
  const { call } = await daemon(t)
  // A short path, since the address of a socket holds no more than 107 bytes.
  const dir = mkdtempSync(join(tmpdir(), 'hutch-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  execFileSync('mkfifo', [join(dir, 'fifo')])
  const server = createServer().listen(join(dir, 'socket'))
  t.teardown(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  for (const path of [join(dir, 'fifo'), join(dir, 'socket'), '/dev/zero', '/dev/null'])
    for (const query of ['', '?download=true']) {
      const answer = await call('GET', at(path) + query)
      t.equal(answer.status, 422, `${path}${query}`)
      t.ok(answer.body.error)
    }
  t.equal((await call('PUT', at(join(dir, 'fifo')), { body: { content: 'x' } })).status, 422, 'nobody reads the fifo')
  t.ok(lstatSync(join(dir, 'fifo')).isFIFO(), 'and it is still there')
  const { files } = (await call('GET', at(dir))).body
  t.match(files, [
    { name: 'fifo', permissions: /^200000\d{3}$/ },
    { name: 'socket', permissions: /^100000\d{3}$/ },
  ])
  const proc = await call('GET', at('/proc/self/status'))
  t.equal(proc.body.size, 0)
  t.match(proc.body.content, /^Name:/)
  const bytes = await call('GET', at('/proc/self/status'), { headers: { accept: 'application/octet-stream' } })
  t.match(bytes.text, /^Name:/)
  t.notMatch(bytes.headers, { 'content-length': /./ })
})

t.test('a listing that entries vanish from answers with those that are left', async t => {
  const { call, dir } = await daemon(t)
  mkdirSync(join(dir, 'busy'))
  const churn = fileURLToPath(new URL('../../programs/churn.ts', import.meta.url))
  const child = spawn(process.execPath, [churn, join(dir, 'busy')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => child.once('close', resolve))
  try {
    await new Promise(resolve => child.stdout.once('data', resolve))
    for (let round = 0; round < 30; round++) t.equal((await call('GET', '/filesystem/busy')).status, 200)
  } finally {
    // Before the test ends, because its directory is removed then.
    child.kill('SIGKILL')
    await ended
  }
})

t.test('trees: absolute, one level, several files at once', async t => {
  const { call, dir } = await daemon(t)
  const root = join(dir, 'app')
  const wrote = await call('PUT', `/filesystem/tree/${root}`, {
    body: { files: { 'a.txt': 'A', 'src/b.txt': 'B', '/c.txt': 'C', 'src/../d.txt': 'D' } },
  })
  t.equal(wrote.status, 200)
  t.match(wrote.body, { path: root, name: 'app', subdirectories: [{ path: join(root, 'src'), name: 'src' }] })
  t.same(readdirSync(root).sort(), ['a.txt', 'c.txt', 'd.txt', 'src'])
  t.equal(readFileSync(join(root, 'src/b.txt'), 'utf8'), 'B')
  for (const target of [
    `/filesystem/tree/${root}`,
    `/filesystem/tree${root}`,
    `/filesystem/tree${encodeURIComponent(root)}`,
    `/filesystem/tree${root.replaceAll('/', '//')}`,
  ])
    t.equal((await call('GET', target)).body.path, root, target)
  t.equal((await call('PUT', `/filesystem/tree${root}/empty`, { body: {} })).status, 200, 'files may be absent')
  t.same((await call('GET', `/filesystem/tree${root}/empty`)).body.files, [])
  t.equal((await call('GET', '/filesystem/tree')).body.path, '/')
  t.equal((await call('GET', '/filesystem/tree/')).body.name, '/')
  t.equal((await call('GET', `/filesystem/tree${root}/a.txt`)).status, 400)
  t.equal((await call('GET', `/filesystem/tree${root}/nope`)).status, 400)
  for (const body of [{ files: { x: 1 } }, { files: [] }, '{', ''])
    t.equal((await call('PUT', `/filesystem/tree${root}`, { body })).status, 400, JSON.stringify(body))
  t.equal((await call('PUT', `/filesystem/tree${root}`, { body: { files: { 'a\0': '' } } })).status, 400, 'NUL')
  t.equal((await call('PUT', `/filesystem/tree${root}/a.txt`, { body: { files: {} } })).status, 422)
  const half = await call('PUT', `/filesystem/tree${root}`, { body: { files: { first: '1', 'a.txt/x': '2' } } })
  t.equal(half.status, 422)
  t.ok(existsSync(join(root, 'first')), 'what was written before stays')
  t.equal((await call('DELETE', `/filesystem/tree${root}/nope?recursive=true`)).status, 422)
  t.equal((await call('DELETE', `/filesystem/tree${root}/a.txt?recursive=true`)).status, 422)
  t.equal((await call('DELETE', `/filesystem/tree${root}`)).status, 422)
  const gone = await call('DELETE', `/filesystem/tree${root}?recursive=true`)
  t.match(gone.body, { path: root, message: /success/ })
  t.notOk(existsSync(root))
})

t.test('trees: any name is a name, null is nothing', async t => {
  const { call, dir } = await daemon(t)
  const body = '{"files":{"__proto__":"p","constructor":"c","~":"h","sp ace":"s","a\\\\b":"w","ü":"u"}}'
  t.equal((await call('PUT', `/filesystem/tree${dir}/t`, { body })).status, 200)
  t.same(readdirSync(join(dir, 't')).sort(), ['__proto__', 'a\\b', 'constructor', 'sp ace', 'ü', '~'].sort())
  t.equal(readFileSync(join(dir, 't/__proto__'), 'utf8'), 'p')
  t.equal((await call('PUT', `/filesystem/tree${dir}/n`, { body: { files: null } })).status, 200)
  const nulls = { content: null, permissions: null, isDirectory: null }
  t.equal((await call('PUT', '/filesystem/null', { body: nulls })).status, 200)
  t.equal(readFileSync(join(dir, 'null'), 'utf8'), '')
  for (const files of [{ ['k'.repeat(5000)]: '' }, { a: null }, { a: { b: '' } }, 'x', 5, true])
    t.match(await call('PUT', `/filesystem/tree${dir}/n`, { body: { files } }), {
      status: 400,
      body: { error: /^invalid request body: files/ },
    })
  t.same(readdirSync(join(dir, 'n')), [])
})

/** Names and sizes below a directory. */
const sizes = (dir: string) => Object.fromEntries(readdirSync(dir).map(name => [name, statSync(join(dir, name)).size]))

t.test('a disk that is full: the reason, nothing half, and what was there stays', async t => {
  const disk = smallDisk(t, 1)
  if (!disk) return void t.pass('no right to mount: not looked at')
  const { call } = await daemon(t)
  const content = 'x'.repeat(3_000_000)
  const full = { status: 422, body: { error: /ENOSPC/ } }
  t.match(await call('PUT', at(join(disk, 'new')), { body: { content } }), full)
  t.same(sizes(disk), {})
  t.equal((await call('PUT', at(join(disk, 'old')), { body: { content: 'old' } })).status, 200)
  t.match(await call('PUT', at(join(disk, 'old')), { body: { content } }), full)
  t.equal(readFileSync(join(disk, 'old'), 'utf8'), 'old', 'the old content costs nothing')
  t.equal((await call('PUT', at(join(disk, 'old')), { body: { content: 'newer and longer' } })).status, 200)
  t.equal(readFileSync(join(disk, 'old'), 'utf8'), 'newer and longer')
  const files = { a: '1', b: content, c: '2' }
  t.match(await call('PUT', `/filesystem/tree${disk}/t`, { body: { files } }), full)
  t.same(sizes(join(disk, 't')), { a: 1 })
  t.equal((await call('DELETE', `${at(join(disk, 't'))}?recursive=true`)).status, 200)
  t.equal((await call('GET', at(disk))).status, 200)
})

t.test('a file system that only lets itself be read', async t => {
  const disk = smallDisk(t, 1)
  if (!disk) return void t.pass('no right to mount: not looked at')
  mkdirSync(join(disk, 'd'))
  writeFileSync(join(disk, 'f'), 'kept')
  execFileSync('mount', ['-o', 'remount,ro', disk])
  const { call } = await daemon(t)
  const refused = { status: 422, body: { error: /EROFS/ } }
  const body = { content: 'x' }
  for (const [method, target, sent] of [
    ['PUT', at(join(disk, 'new')), body],
    ['PUT', at(join(disk, 'f')), body],
    ['PUT', at(join(disk, 'deep/new')), body],
    ['PUT', at(join(disk, 'made')), { isDirectory: true }],
    ['PUT', `/filesystem/tree${disk}/t`, { files: {} }],
    ['PUT', `/filesystem/tree${disk}`, { files: { a: '' } }],
    ['PUT', `/filesystem-archive${encodeURIComponent(join(disk, 'new'))}`, undefined],
    ['DELETE', at(join(disk, 'f')), undefined],
    ['DELETE', at(join(disk, 'd')), undefined],
    ['DELETE', `${at(join(disk, 'd'))}?recursive=true`, undefined],
  ] as const)
    t.match(await call(method, target, { body: sent }), refused, `${method} ${target}`)
  t.equal((await call('PUT', at(join(disk, 'd')), { body: { isDirectory: true } })).status, 200, 'it is there')
  t.match((await call('GET', at(join(disk, 'f')))).body, { content: 'kept' })
})

t.test('a name that begins with tree is no tree', async t => {
  const { call, dir } = await daemon(t, { files: { 'treehouse.txt': 'T' } })
  t.equal((await call('GET', '/filesystem/treehouse.txt')).body.content, 'T')
  t.equal((await call('GET', at(join(dir, 'treehouse.txt')))).body.content, 'T')
})

t.test('a tree with contents: all of it, nothing outside of it, and marks where something is left out', async t => {
  const { call, dir, daemon: made } = await daemon(t)
  const at = (name: string) => join(dir, 'tree', name)
  mkdirSync(at('a/b/c'), { recursive: true })
  writeFileSync(join(dir, 'secret'), 'hushed')
  writeFileSync(at('top.txt'), 'top')
  writeFileSync(at('a/b/deep.txt'), 'deep ☃')
  symlinkSync(join(dir, 'secret'), at('a/link'))
  symlinkSync(dir, at('a/way-out'))
  execFileSync('mkfifo', [at('a/b/fifo')])
  const tree = (query: string) => call('GET', `/filesystem/tree${join(dir, 'tree')}${query}`)

  const plain = (await tree('')).body
  t.equal(plain.subdirectories[0].files, undefined, 'one level without the parameters')
  t.equal(plain.files[0].content, undefined)
  const whole = await tree('?recursive=true&content=true')
  t.equal(whole.status, 200)
  const [a] = whole.body.subdirectories
  t.match(whole.body, { path: join(dir, 'tree'), name: 'tree', files: [{ name: 'top.txt', content: 'top', size: 3 }] })
  t.match(a.subdirectories[0], {
    path: at('a/b'),
    files: [
      { name: 'deep.txt', content: 'deep ☃' },
      { name: 'fifo', truncated: 'unreadable' },
    ],
    subdirectories: [{ name: 'c', files: [], subdirectories: [] }],
  })
  t.same(
    a.files.map(({ name, content }: { name: string; content?: string }) => [name, content]),
    [
      ['link', undefined],
      ['way-out', undefined],
    ],
    'links are shown and not followed',
  )
  t.notMatch(whole.text, /hushed/)
  t.notMatch((await tree('?recursive=true')).text, /"content"/)
  t.match((await tree('?content=true')).body, { files: [{ content: 'top' }], subdirectories: [{ name: 'a' }] })
  t.equal((await tree('?content=true')).body.subdirectories[0].files, undefined)
  t.match(await call('GET', `/filesystem/tree${at('none')}?recursive=true&content=true`), { status: 400 })

  const files = createFilesystem(made.core, createFilePort(undefined)).files
  const bounded = (limits: object) =>
    readContents(files, join(dir, 'tree'), {
      recursive: true,
      content: true,
      signal: new AbortController().signal,
      limits,
    })
  t.match(await bounded({ depth: 1 }), { subdirectories: [{ name: 'a', truncated: 'depth' }] })
  const few = await bounded({ entries: 3 })
  t.match(few, { files: [{ name: 'top.txt' }], subdirectories: [{ name: 'a', truncated: 'entries' }] })
  t.equal(few.subdirectories?.[0]?.files?.length, 1)
  const short = await bounded({ bytes: 10 })
  t.match(short.files, [{ content: 'top' }])
  t.match(short.subdirectories?.[0]?.subdirectories?.[0]?.files, [{ name: 'deep.txt', truncated: 'bytes' }])
})
