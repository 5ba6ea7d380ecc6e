/** Every way of writing a file leaves the old content or the new one, with what the file was. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  constants,
  existsSync,
  linkSync,
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
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createFilePort } from '../../../../daemon/filesystem/native-port.ts'
import type { FilePort } from '../../../../daemon/filesystem/port.ts'
import { createDraftJournal } from '../../../../daemon/filesystem/whole/journal.ts'
import { createWholeFiles } from '../../../../daemon/filesystem/whole/whole.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { silentLog } from '../../../../shared/log.ts'
import { daemon, type TestDaemon } from '../../../support/daemon.ts'
import { smallDisk } from '../../../support/small-disk.ts'

const root = process.getuid?.() === 0
const octets = { 'content-type': 'application/octet-stream' }
const form = (value: string) => ({
  body: `--XyZ\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n${value}\r\n--XyZ--\r\n`,
  headers: { 'content-type': 'multipart/form-data; boundary=XyZ' },
})

const parts = async ({ call }: TestDaemon, path: string, value: string) => {
  const { uploadId } = (await call('POST', `/filesystem-multipart/initiate${encodeURIComponent(path)}`)).body
  await call('PUT', `/filesystem-multipart/${uploadId}/part?partNumber=1`, form(value))
  const etag = createHash('md5').update(value).digest('hex')
  return call('POST', `/filesystem-multipart/${uploadId}/complete`, { body: { parts: [{ partNumber: 1, etag }] } })
}

/** Every way that follows links and keeps what the file was. */
const ways: [string, (made: TestDaemon, path: string, value: string) => Promise<{ status: number }>][] = [
  ['JSON', ({ call }, path, content) => call('PUT', `/filesystem${encodeURIComponent(path)}`, { body: { content } })],
  ['form', ({ call }, path, value) => call('PUT', `/filesystem${encodeURIComponent(path)}`, form(value))],
  ['raw', ({ call }, path, body) => call('PUT', `/filesystem${encodeURIComponent(path)}`, { body, headers: octets })],
  ['tree', ({ call }, path, f) => call('PUT', `/filesystem/tree${path.slice(0, -2)}`, { body: { files: { f } } })],
  ['parts', parts],
]

/** A whole-file writer of its own, over a port that some verbs of which are others. */
const writer = (t: Test, verbs: Partial<FilePort> = {}) => {
  const dir = t.testdir({ work: {}, state: {}, spare: {} })
  const port = { ...createFilePort(undefined), ...verbs }
  const journal = createDraftJournal({ dir: join(dir, 'state/drafts'), log: silentLog })
  const whole = createWholeFiles({ port, ids: randomIds(), journal, spareDir: join(dir, 'spare') })
  return { dir, work: join(dir, 'work'), journal, whole }
}

/** As a file system that has no files without a name. */
const withoutUnnamed: Partial<FilePort> = {
  stage: () => Promise.reject(Object.assign(new Error('EOPNOTSUPP'), { code: 'EOPNOTSUPP' })),
  open(path, flags, mode) {
    if ((flags & constants.O_DIRECTORY) !== 0)
      return Promise.reject(Object.assign(new Error('EOPNOTSUPP'), { code: 'EOPNOTSUPP' }))
    return createFilePort(undefined).open(path, flags, mode)
  },
}

t.test('the mode, the owner and the attributes of a file stay, whatever the umask', async t => {
  const made = await daemon(t, { files: { f: '' } })
  const path = join(made.dir, 'f')
  for (const [how, write] of ways) {
    writeFileSync(path, 'old')
    if (root) chownSync(path, 12_345, 54_321)
    chmodSync(path, 0o4767)
    const before = statSync(path)
    const attribute = () =>
      execFileSync('python3', ['-c', `import os; print(os.getxattr(${JSON.stringify(path)}, 'user.hutch'))`])
    execFileSync('python3', ['-c', `import os; os.setxattr(${JSON.stringify(path)}, 'user.hutch', b'kept')`])
    t.equal((await write(made, path, `new by ${how}`)).status, 200, how)
    t.equal(readFileSync(path, 'utf8'), `new by ${how}`)
    const { mode, uid, gid, ino } = statSync(path)
    t.same({ mode, uid, gid }, { mode: before.mode, uid: before.uid, gid: before.gid }, how)
    t.not(ino, before.ino, `${how}: another file, so that a reader of the old one has all of it`)
    t.match(attribute().toString(), /kept/, how)
    t.same(readdirSync(made.dir), ['f'], how)
    rmSync(path)
  }
})

t.test('a file with several names is written in place, whole on a full disk', async t => {
  const made = await daemon(t, { files: { f: 'old', d: {} } })
  const [path, other] = [join(made.dir, 'f'), join(made.dir, 'd/other')]
  linkSync(path, other)
  const { ino } = statSync(path)
  for (const [how, write] of ways)
    for (const content of [`new by ${how}`, how, `${how} again, and longer`]) {
      t.equal((await write(made, path, content)).status, 200, how)
      t.equal(readFileSync(other, 'utf8'), content, how)
      t.match(statSync(path), { ino, nlink: 2 }, how)
    }
  t.same(readdirSync(made.dir), ['d', 'f'])
  const disk = smallDisk(t, 4)
  if (!disk) return void t.pass('no right to mount: not looked at', { skip: 'needs a mount of its own' })
  const full = join(disk, 'f')
  writeFileSync(full, 'x'.repeat(1_000_000))
  linkSync(full, join(disk, 'other'))
  // One copy has room beside the old content, growing the old one by the same has not.
  for (const [how, write] of ways) {
    t.match((await write(made, full, 'y'.repeat(2_500_000))).status, /^(422|500)$/, how)
    t.ok(readFileSync(full, 'utf8') === 'x'.repeat(1_000_000), `${how} leaves what was there`)
    t.same(readdirSync(disk), ['f', 'other'])
  }
})

t.test('a file on which another one is mounted is written in place', async t => {
  const made = await daemon(t, { files: { f: 'below', outside: 'old' } })
  const [path, outside] = [join(made.dir, 'f'), join(made.dir, 'outside')]
  try {
    execFileSync('mount', ['--bind', outside, path], { stdio: 'ignore' })
  } catch {
    return void t.pass('no right to mount: not looked at', { skip: 'needs a mount of its own' })
  }
  try {
    for (const [how, write] of ways) {
      t.equal((await write(made, path, `new by ${how}`)).status, 200, how)
      t.equal(readFileSync(outside, 'utf8'), `new by ${how}`, how)
      t.same(readdirSync(made.dir), ['f', 'outside'], how)
    }
  } finally {
    // Before the directory is removed, which is before any teardown.
    execFileSync('umount', ['-l', path])
  }
})

t.test('a file of another owner, or in a directory that is not the user’s, is written in place', async t => {
  if (!root) return void t.pass('only root can take another identity: not looked at')
  const dir = mkdtempSync(join(tmpdir(), 'hutch-user-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  chmodSync(dir, 0o755)
  mkdirSync(join(dir, 'theirs'))
  chownSync(join(dir, 'theirs'), 10_001, 10_001)
  const made = await daemon(t, { argv: ['--user', '10001'] })
  chmodSync(made.config.tmpDir, 0o777)
  for (let at = made.config.tmpDir; at !== '/'; at = join(at, '..')) chmodSync(at, statSync(at).mode | 0o055)
  for (const path of [join(dir, 'theirs/f'), join(dir, 'f')]) {
    writeFileSync(path, 'old')
    chmodSync(path, 0o666)
    for (const [how, write] of ways.filter(([name]) => name !== 'tree')) {
      t.equal((await write(made, path, `new by ${how}`)).status, 200, `${how} ${path}`)
      t.equal(readFileSync(path, 'utf8'), `new by ${how}`)
      t.match(statSync(path), { uid: 0 }, how)
    }
    chmodSync(path, 0o644)
    for (const [how, write] of ways.filter(([name]) => ['JSON', 'form'].includes(name)))
      t.equal((await write(made, path, 'no')).status, 422, `${how}: it is not theirs to write`)
  }
  t.same(readdirSync(join(dir, 'theirs')), ['f'])
})

t.test('links are followed, also one that leads to nothing; a loop is 422', async t => {
  const made = await daemon(t, { files: { d: {} } })
  symlinkSync('d', join(made.dir, 'to-d'))
  symlinkSync('to-d/../made-by-link', join(made.dir, 'l2'))
  symlinkSync(join(made.dir, 'l2'), join(made.dir, 'l1'))
  symlinkSync('loop', join(made.dir, 'loop'))
  for (const [how, write] of ways.filter(([name]) => name !== 'tree')) {
    t.equal((await write(made, join(made.dir, 'l1'), how)).status, 200, how)
    t.equal(readFileSync(join(made.dir, 'made-by-link'), 'utf8'), how)
    t.ok(lstatSync(join(made.dir, 'l1')).isSymbolicLink() && lstatSync(join(made.dir, 'l2')).isSymbolicLink(), how)
    rmSync(join(made.dir, 'made-by-link'))
    t.match((await write(made, join(made.dir, 'loop'), how)).status, how === 'parts' ? 500 : 422, how)
    t.ok(lstatSync(join(made.dir, 'loop')).isSymbolicLink())
  }
})

t.test('a fifo and a device get the bytes as they come', async t => {
  const made = await daemon(t)
  const path = join(made.dir, 'pipe')
  execFileSync('mkfifo', [path])
  for (const [how, write] of ways.slice(0, 1)) {
    const reader = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'inherit'] })
    let seen = ''
    reader.stdout.on('data', piece => (seen += piece))
    const closed = new Promise(resolve => reader.once('close', resolve))
    // Opening is refused until somebody reads.
    let status = 0
    for (let tries = 0; tries < 200 && status !== 200; tries++) {
      status = (await write(made, path, how)).status
      if (status !== 200) await sleep(20)
    }
    t.equal(status, 200, how)
    await closed
    t.equal(seen, how)
  }
  t.ok(lstatSync(path).isFIFO())
  for (const [how, write] of ways.slice(0, 2)) {
    t.equal((await write(made, '/dev/null', how)).status, 200, how)
    t.ok(lstatSync('/dev/null').isCharacterDevice())
  }
})

t.test('without unnamed files the draft has a short-lived name, which a later daemon removes', async t => {
  const { work, dir, whole, journal } = writer(t, withoutUnnamed)
  const path = join(work, 'f')
  writeFileSync(path, 'old')
  await whole.write(path, Buffer.from('new'), { fresh: 0o600, asProcess: true })
  t.equal(readFileSync(path, 'utf8'), 'new')
  await t.rejects(
    whole.replace(path, { fresh: 0o600 }, () => Promise.reject(new Error('cut'))),
    { message: 'cut' },
  )
  t.equal(readFileSync(path, 'utf8'), 'new')
  t.same(readdirSync(work), ['f'])
  // What a killed daemon leaves: neither ended.
  await whole.stage(path, { fresh: 0o600 })
  await whole.stage(join(work, 'other'), { fresh: 0o600 })
  t.equal(readdirSync(work).length, 3)
  // A link that is no entry of the journal's names something else, which is not removed.
  symlinkSync(path, join(dir, 'state/drafts/.hutch-new-aaaaaaaaaaaa'))
  journal.sweep()
  t.same(readdirSync(work), ['f'])
  t.same(readdirSync(join(dir, 'state/drafts')), [])
  t.equal(readFileSync(path, 'utf8'), 'new')
})

const killedBetween = async (t: Test, { work, dir, whole, journal }: ReturnType<typeof writer>) => {
  const path = join(work, 'f')
  writeFileSync(path, 'old')
  void whole.write(path, Buffer.from('new'), { fresh: 0o600 })
  const drafts = () => readdirSync(work).filter(name => name !== 'f')
  while (drafts().length === 0) await sleep(5)
  t.same(drafts(), readdirSync(join(dir, 'state/drafts')))
  journal.sweep()
  t.same(readdirSync(work), ['f'])
  t.equal(readFileSync(path, 'utf8'), 'old')
}

t.test('killed between its two names, an unnamed file leaves nothing either', async t => {
  const never = new Promise<never>(() => {})
  for (const verbs of [
    {
      publish: (fd, _path, draft) =>
        createFilePort(undefined)
          .nameFd(fd, draft)
          .then(() => never),
    },
    { stage: withoutUnnamed.stage, rename: () => never },
  ] as Partial<FilePort>[])
    await killedBetween(t, writer(t, verbs))
})

t.test('of many writers at once one wins, also in place', async t => {
  const { work, whole } = writer(t)
  const path = join(work, 'f')
  for (const names of [1, 2]) {
    writeFileSync(path, 'old')
    if (names === 2) linkSync(path, join(work, 'other'))
    const write = (letter: string) =>
      whole.write(path, Buffer.alloc(3_000_000 + letter.charCodeAt(0), letter), { fresh: 0o644 })
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map(write))
    const text = readFileSync(path, 'latin1')
    t.equal(new Set(text).size, 1)
    t.equal(text.length, 3_000_000 + text.charCodeAt(0))
  }
})

t.test('what takes a name keeps nothing of what had it', async t => {
  const { work, whole } = writer(t)
  const at = (name: string) => join(work, name)
  writeFileSync(at('target'), 'target', { mode: 0o666 })
  symlinkSync('target', at('link'))
  await whole.supplant(at('link'), 0o600, async () => {})
  t.ok(lstatSync(at('link')).isFile())
  t.equal(readFileSync(at('target'), 'utf8'), 'target')
  await whole.supplantBy(at('link'), async where => symlinkSync('nowhere', where))
  t.ok(lstatSync(at('link')).isSymbolicLink())
  await whole.supplantBy(at('link'), async where => linkSync(at('target'), where))
  await whole.supplantBy(at('link'), async where => linkSync(at('target'), where))
  t.equal(statSync(at('link')).ino, statSync(at('target')).ino)
  await t.rejects(
    whole.supplantBy(at('target'), () => Promise.reject(Object.assign(new Error('x'), { code: 'EEXIST' }))),
  )
  t.equal(readFileSync(at('target'), 'utf8'), 'target', 'a failure leaves what was there')
  mkdirSync(at('d'))
  await t.rejects(
    whole.supplant(at('d'), 0o600, async () => {}),
    { code: 'EISDIR' },
  )
  t.same(readdirSync(work).toSorted(), ['d', 'link', 'target'])
  t.notOk(existsSync(at('nowhere')))
})
