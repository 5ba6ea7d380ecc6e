import '../../support/native.ts'
import { execFileSync, spawn } from 'node:child_process'
import { pbkdf2 } from 'node:crypto'
import fs, { closeSync, constants, existsSync, fstatSync, readFileSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { nodePort } from '../../support/node-port.ts'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'

const skip = process.getuid?.() !== 0 && 'needs root'
const user = { uid: 4711, gid: 4712 }
const { O_CREAT, O_RDONLY, O_WRONLY, O_RDWR, O_DIRECTORY, O_NOFOLLOW } = constants

/** A directory the user may write in, below one that everybody may enter. */
const openDirectory = (t: Test): string => {
  const dir = fs.mkdtempSync('/tmp/files-as-')
  fs.chmodSync(dir, 0o777)
  t.teardown(() => fs.rmSync(dir, { recursive: true, force: true }))
  return dir
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    error => error.code,
  )

/** Does everything the port can, and tells what came of it; `dir` is replaced, inode times are left out. */
const exercise = async (port: ReturnType<typeof nodePort>, dir: string): Promise<unknown[]> => {
  const log: unknown[] = []
  const note = async (name: string, work: () => Promise<unknown>) => {
    const tell = (value: unknown) =>
      JSON.stringify(value, (key, inner) => (key === 'mtimeNs' ? typeof inner : inner))?.replaceAll(dir, 'DIR')
    log.push([name, await work().then(tell, error => `${error.code}: ${error.message}`.replaceAll(dir, 'DIR'))])
  }
  const at = (name: string) => join(dir, name)
  await note('mkdir', () => port.mkdir(at('a/b/c'), 0o700))
  await note('mkdir again', () => port.mkdir(at('a/b/c'), 0o755))
  await note('list of nothing', () => port.list(at('a/b/c')))
  await note('create', async () => {
    const fd = await port.open(at('a/file'), O_CREAT | O_WRONLY, 0o640)
    writeSync(fd, 'text')
    closeSync(fd)
  })
  await note('mkdir over a file', () => port.mkdir(at('a/file'), 0o755))
  await note('mkdir below a file', () => port.mkdir(at('a/file/x'), 0o755))
  await note('symlink', () => port.symlink('file', at('a/link')))
  await note('symlink again', () => port.symlink('file', at('a/link')))
  await note('stat', async () => port.stat(at('a/link')))
  await note('lstat', async () => port.lstat(at('a/link')))
  await note('stat of nothing', () => port.stat(at('none')))
  await note('stat through a file', () => port.stat(at('a/file/x')))
  await note('readdir', async () => (await port.readdir(at('a'))).sort((x, y) => (x.name < y.name ? -1 : 1)))
  await note('readdir of a file', () => port.readdir(at('a/file')))
  await note('list', async () => (await port.list(at('a'))).sort((x, y) => (x.name < y.name ? -1 : 1)))
  await note('readlink', () => port.readlink(at('a/link')))
  await note('readlink of a file', () => port.readlink(at('a/file')))
  await note('realpath', () => port.realpath(at('a/link')))
  await note('open a directory to write', () => port.open(at('a'), O_RDWR))
  await note('open a link that must not be one', () => port.open(at('a/link'), O_RDONLY | O_NOFOLLOW))
  await note('rename', () => port.rename(at('a/file'), at('a/moved')))
  await note('rename nothing', () => port.rename(at('a/file'), at('a/moved')))
  await note('unlink', () => port.unlink(at('a/link')))
  await note('unlink nothing', () => port.unlink(at('a/link')))
  await note('rmdir a full one', () => port.rmdir(at('a')))
  await note('rmdir', () => port.rmdir(at('a/b/c')))
  await note('symlink out', () => port.symlink('/usr', at('a/b/out')))
  await note('removeTree', () => port.removeTree(at('a')))
  await note('what is left', () => port.readdir(dir))
  log.push(await codeOf(port.removeTree(at('a'))))
  return log
}

t.test('as root it answers as node:fs does', { skip }, async t => {
  const direct = await exercise(nodePort(), openDirectory(t))
  for (const port of [createFilePort(undefined), createFilePort({ uid: 0, gid: 0 })])
    t.strictSame(await exercise(port, openDirectory(t)), direct)
  t.ok(readdirSync('/usr').length > 0)
})

t.test('what is made belongs to the user', { skip }, async t => {
  const dir = openDirectory(t)
  const port = createFilePort(user)
  await port.mkdir(join(dir, 'd'), 0o755)
  const fd = await port.open(join(dir, 'd/f'), O_CREAT | O_WRONLY)
  t.match(fstatSync(fd), user)
  closeSync(fd)
  await port.symlink('f', join(dir, 'd/l'))
  for (const name of ['d', 'd/f', 'd/l']) t.match(await port.lstat(join(dir, name)), user, name)
})

t.test('what root keeps to itself cannot be reached', { skip }, async t => {
  const dir = openDirectory(t)
  const port = createFilePort(user)
  fs.mkdirSync(join(dir, 'private'), { mode: 0o700 })
  fs.writeFileSync(join(dir, 'private/secret'), 'x')
  fs.writeFileSync(join(dir, 'readable'), 'x', { mode: 0o644 })
  fs.mkdirSync(join(dir, 'shared'), { mode: 0o755 })
  fs.writeFileSync(join(dir, 'shared/file'), 'x')
  fs.symlinkSync('private/secret', join(dir, 'way-in'))
  const refused: [string, () => Promise<unknown>][] = [
    ['open', () => port.open(join(dir, 'private/secret'), O_RDONLY)],
    ['open by a link', () => port.open(join(dir, 'way-in'), O_RDONLY)],
    ['open to write', () => port.open(join(dir, 'readable'), O_WRONLY)],
    ['create', () => port.open(join(dir, 'shared/new'), O_CREAT | O_WRONLY)],
    ['stat', () => port.stat(join(dir, 'private/secret'))],
    ['readdir', () => port.readdir(join(dir, 'private'))],
    ['list', () => port.list(join(dir, 'private'))],
    ['mkdir', () => port.mkdir(join(dir, 'shared/a/b'), 0o755)],
    ['symlink', () => port.symlink('x', join(dir, 'shared/l'))],
    ['rename', () => port.rename(join(dir, 'shared/file'), join(dir, 'mine'))],
    ['unlink', () => port.unlink(join(dir, 'shared/file'))],
    ['removeTree', () => port.removeTree(join(dir, 'shared'))],
    ['removeTree inside', () => port.removeTree(join(dir, 'private'))],
    ['realpath', () => port.realpath(join(dir, 'way-in'))],
  ]
  for (const [name, work] of refused) t.equal(await codeOf(work()), 'EACCES', name)
  t.equal(readFileSync(join(dir, 'shared/file'), 'utf8'), 'x')
})

t.test('groups other than the primary one do not count, root’s least of all', { skip }, async t => {
  const dir = openDirectory(t)
  fs.writeFileSync(join(dir, 'of-root'), 'x')
  fs.chmodSync(join(dir, 'of-root'), 0o640)
  fs.writeFileSync(join(dir, 'of-group'), 'x')
  fs.chownSync(join(dir, 'of-group'), 0, user.gid)
  fs.chmodSync(join(dir, 'of-group'), 0o640)
  const port = createFilePort(user)
  t.equal(await codeOf(port.open(join(dir, 'of-root'), O_RDONLY)), 'EACCES')
  closeSync(await port.open(join(dir, 'of-group'), O_RDONLY))
})

t.test('a small file is read as it is opened, and closed; of anything else there is a descriptor', async t => {
  const limit = 64 * 1024
  const sizes = { empty: 0, small: 5, largest: limit, larger: limit + 1 }
  const dir = t.testdir(Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, 'x'.repeat(size)])))
  const port = createFilePort(undefined)
  const open = () =>
    readdirSync('/proc/self/fd').filter(
      fd => fs.existsSync(`/proc/self/fd/${fd}`) && fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir),
    )
  // The second time from the kernel's memory.
  for (const [name, size] of [...Object.entries(sizes), ...Object.entries(sizes)]) {
    const { fd, stat, content } = await port.openRead(join(dir, name), O_RDONLY)
    const isRead = size > 0 && size <= limit
    t.same([stat.kind, stat.size, stat.mtimeNs], ['file', size, fs.statSync(join(dir, name), { bigint: true }).mtimeNs])
    t.equal(content?.toString(), isRead ? 'x'.repeat(size) : undefined, name)
    if (isRead) t.equal(fd, -1, name)
    else {
      t.equal(fstatSync(fd).size, size, name)
      closeSync(fd)
    }
  }
  const directory = await port.openRead(dir, O_RDONLY)
  t.equal(directory.stat.kind, 'directory')
  closeSync(directory.fd)
  t.equal(await codeOf(port.openRead(join(dir, 'none'), O_RDONLY)), 'ENOENT')
  t.same(open(), [], 'nothing is left open')
})

t.test('a small file that the kernel has in memory waits for no thread, and is as it is now', async t => {
  const dir = t.testdir({ file: 'one', link: t.fixture('symlink', 'file') })
  const path = join(dir, 'file')
  const port = createFilePort(undefined)
  const text = async (flags = O_NOFOLLOW) => String((await port.openRead(path, O_RDONLY | flags)).content)
  t.equal(await text(), 'one', 'the pool has met the device')
  const ended: string[] = []
  // More than there are threads.
  const slow = Array.from({ length: 8 }, async () => {
    await promisify(pbkdf2)('a', 'b', 30_000, 32, 'sha512')
    ended.push('slow')
  })
  for (const [content, flags] of [
    ['two', O_NOFOLLOW],
    ['and three', 0],
  ] as const) {
    fs.writeFileSync(path, content)
    fs.chmodSync(path, 0o600)
    t.equal(await text(flags), content)
  }
  t.same(ended, [], 'before any of those that began earlier')
  t.equal(await codeOf(port.openRead(join(dir, 'link'), O_RDONLY | O_NOFOLLOW)), 'ELOOP')
  fs.renameSync(path, join(dir, 'gone'))
  t.equal(await codeOf(text()), 'ENOENT')
  if (!skip) t.equal(await codeOf(createFilePort(user).openRead(join(dir, 'gone'), O_RDONLY)), 'EACCES')
  await Promise.all(slow)
})

t.test('the daemon’s own memory and descriptors are not files to anybody', async t => {
  const ports = skip
    ? [createFilePort(undefined)]
    : [createFilePort(undefined), createFilePort({ uid: 0, gid: 0 }), createFilePort(user)]
  const child = spawn('sleep', ['1000'], skip ? {} : user)
  t.teardown(() => child.kill('SIGKILL'))
  const other = child.pid
  const link = join(t.testdir({ link: t.fixture('symlink', '/proc/self/environ') }), 'link')
  const secrets = ['mem', 'environ', 'auxv', 'maps', 'smaps', 'smaps_rollup', 'numa_maps', 'stat', 'syscall', 'pagemap']
  // A thread has a directory of its own, by its number, and each has the memory of all.
  const threads = readdirSync('/proc/self/task')
  t.ok(threads.length > 4)
  const places = ['self', 'thread-self', ...threads, ...threads.map(thread => `self/task/${thread}`)]
  const own = places.flatMap(place => secrets.map(name => `/proc/${place}/${name}`)).filter(path => existsSync(path))
  t.ok(own.length > 40)
  for (const port of ports) {
    for (const path of [...own, link])
      for (const open of [port.open, port.openRead]) t.equal(await codeOf(open(path, O_RDONLY)), 'EACCES', path)
    closeSync(await port.open('/proc/meminfo', O_RDONLY))
    for (const name of ['status', 'cmdline', 'mountinfo', 'limits', 'net/tcp', 'task', 'net'])
      closeSync(await port.open(`/proc/self/${name}`, O_RDONLY))
    for (const name of ['maps', 'stat']) closeSync(await port.open(`/proc/${other}/${name}`, O_RDONLY))
    t.equal(await codeOf(port.open('/proc/self/oom_score_adj', O_WRONLY)), 'EACCES', 'to write')
  }
})

t.test('rights are ours again afterwards, on every thread', { skip }, async t => {
  const dir = openDirectory(t)
  fs.mkdirSync(join(dir, 'private'), { mode: 0o700 })
  fs.writeFileSync(join(dir, 'private/secret'), 'x')
  const port = createFilePort(user)
  const mixed = Array.from({ length: 64 }, (_, index) =>
    index % 2 === 0
      ? codeOf(port.open(join(dir, 'private/secret'), O_RDONLY))
      : fs.promises.readFile(join(dir, 'private/secret'), 'utf8'),
  )
  const results = await Promise.all(mixed)
  t.strictSame([...new Set(results.filter((_, index) => index % 2 === 0))], ['EACCES'])
  t.strictSame([...new Set(results.filter((_, index) => index % 2 === 1))], ['x'])
  for (const task of readdirSync('/proc/self/task')) {
    const status = readFileSync(`/proc/self/task/${task}/status`, 'utf8')
    t.match(status, /Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n/)
  }
})

t.test('a descriptor does not outlive an exec and never blocks', async t => {
  const dir = t.testdir()
  const port = createFilePort(undefined)
  const fd = await port.open(dir, O_RDONLY | O_DIRECTORY)
  const flags = Number.parseInt(/flags:\t(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '', 8)
  closeSync(fd)
  t.ok(flags & 0o2000000, 'close on exec')
  t.ok(flags & constants.O_NONBLOCK)
})

t.test('a tree that is deeper than descriptors reach is removed all the same', async t => {
  const dir = t.testdir({ keep: { file: 'x' } })
  const make =
    'mkdir top; cd top; for i in $(seq 700); do mkdir d e; : > f; : > e/g; ln -s /usr l; [ $i = 600 ] && ln -s "$0" out; cd d; done'
  execFileSync('bash', ['-c', make, join(dir, 'keep')], { cwd: dir })
  const files = new URL('../../../daemon/filesystem/native-port.ts', import.meta.url).href
  const remove = `const { createFilePort } = await import('${files}'); await createFilePort(undefined).removeTree(process.argv[1])`
  execFileSync(
    'bash',
    ['-c', 'ulimit -n 200; exec "$@"', '-', process.execPath, '--input-type=module', '-e', remove, join(dir, 'top')],
    { stdio: 'pipe' },
  )
  t.same(readdirSync(dir), ['keep'])
  t.equal(readFileSync(join(dir, 'keep/file'), 'utf8'), 'x')
})

t.test('a deep directory that cannot be emptied says so', { skip }, async t => {
  const dir = openDirectory(t)
  const make = 'mkdir top; cd top; for i in $(seq 100); do mkdir d; chmod 777 d; cd d; done; mkdir shut; : > shut/file'
  execFileSync('bash', ['-c', make], { cwd: dir })
  fs.chmodSync(join(dir, 'top'), 0o777)
  t.equal(await codeOf(createFilePort(user).removeTree(join(dir, 'top'))), 'EACCES')
  t.ok(fs.existsSync(join(dir, 'top', 'd/'.repeat(100), 'shut/file')))
  await createFilePort(undefined).removeTree(join(dir, 'top'))
  t.same(readdirSync(dir), [])
})

t.test('names that are no names', { skip }, async t => {
  const port = createFilePort(user)
  t.equal(await codeOf(port.stat('')), 'EINVAL')
  t.equal(await codeOf(port.stat('/tmp/a\0b')), 'EINVAL')
  t.equal(await codeOf(port.stat(`/tmp/${'x'.repeat(300)}`)), 'ENAMETOOLONG')
})
