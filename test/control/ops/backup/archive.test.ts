/** What a tenant can make of its files must not cost everybody else the backup; and a backup has the keys of its database. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { appendPart, unpack } from '../../../../control/ops/backup/archive.ts'
import { listen } from '../../../../control/ops/backup/said.ts'
import { runCommand } from '../../../support/command.ts'
import { openTestHost } from '../../../support/whole-host.ts'

/** Removed by a program that follows directories, as deep as they are. */
const scratch = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-archive-'))
  t.teardown(() => execFileSync('rm', ['-rf', dir]))
  return dir
}

/** Thirty directories of 200 letters: 6,030 bytes, where a path has 4,096. */
const deepIn = (dir: string): void => {
  const name = 'd'.repeat(200)
  const go = `i=0; while [ $i -lt 30 ]; do mkdir ${name} && cd ${name}; i=$((i+1)); done; echo deep > file`
  execFileSync('bash', ['-c', go], { cwd: dir })
}

t.test('directories deeper than a path can be long cost nobody but who has made them', async t => {
  const dir = scratch(t)
  const [from, to] = ['from', 'to'].map(name => join(dir, name)) as [string, string]
  for (const name of ['hostile', 'other']) mkdirSync(join(from, name), { recursive: true })
  mkdirSync(to)
  deepIn(join(from, 'hostile'))
  writeFileSync(join(from, 'hostile', 'shallow'), 'kept')
  writeFileSync(join(from, 'other', 'file'), 'of another tenant')
  const path = join(dir, 'archive')
  const archive = await open(path, 'ax')
  for (const name of ['hostile', 'other']) await appendPart(archive, { step: name, directory: from, names: [name] })
  await archive.close()
  const leftOut = await unpack(path, to)
  t.match(leftOut, { count: 11, first: /: File name too long$/ }, 'which is said')
  t.equal(readFileSync(join(to, 'other', 'file'), 'utf8'), 'of another tenant')
  t.equal(readFileSync(join(to, 'hostile', 'shallow'), 'utf8'), 'kept')
  const nowhere = unpack(path, join(dir, 'nowhere'))
  await t.rejects(nowhere, { code: 'operation_failed' }, 'anything else that is wrong is wrong')
})

t.test('of what tar says of a million files only the end is kept', async t => {
  const line = Buffer.from(`tar: ${'d'.repeat(4_000)}/s: socket ignored\n`)
  const much = Buffer.concat(Array.from({ length: 1_000 }, () => line))
  const say = async function* (times: number, last: string) {
    for (; times > 0; times--) yield much
    for (const letter of last) yield Buffer.from(letter)
  }
  t.match(await listen(say(10, 'tar: no room\n'), { passable: /ignored$/, wanted: /ignored$/ }), {
    end: /^[^]{1,4096}$/,
    isPassable: false,
    found: 10_000,
    first: line.toString().trim(),
  })
  t.match(await listen(say(2, ''), { passable: /ignored$/ }), { isPassable: true, found: 0 })
  t.match(await listen(say(0, 'tar: \u00e4'), {}), { end: 'tar: \u00e4', isPassable: false })
  t.match(await listen(say(0, ''), { passable: /./ }), { end: '', isPassable: false })
})

t.test('no key is changed while a backup is made, and none is made meanwhile', async t => {
  const frozen = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  let isHeld = false
  const dataDir = t.testdir()
  const host = await openTestHost(t, dataDir, {
    faults(point) {
      if (!isHeld || point !== 'freeze') return undefined
      frozen.resolve()
      return goOn.promise
    },
  })
  const spec = { runtime: { image: 'busybox', envs: [{ name: 'HUSH', value: 'hush', secret: true }] } }
  await host.api('POST', '/sandboxes', { metadata: { name: 'a' }, spec })
  await host.until('a', 'DEPLOYED')
  const env = { HUTCH_DATA_DIR: dataDir }
  const to = join(scratch(t), 'backup.tar')
  // Fetched again by whoever needs them; decisions are what owners read.
  for (const [dir, file] of [
    ['packages/blobs', 'kept-for-all'],
    ['egress-events', 'uid.events'],
  ] as const) {
    mkdirSync(join(dataDir, dir), { recursive: true })
    writeFileSync(join(dataDir, dir, file), '')
  }
  const key = () => readFileSync(join(dataDir, 'secret-key'), 'utf8')
  const before = key()
  isHeld = true
  const backup = runCommand(['backup', to], env)
  await frozen.promise
  t.match(await runCommand(['rotate'], env), { code: 1, error: /a backup or a change of keys is under way/ })
  t.equal(key(), before)
  t.match(await runCommand(['backup', `${to}.2`], env), { code: 1, error: /under way/ })
  t.notOk(existsSync(`${to}.2`))
  isHeld = false
  goOn.resolve()
  t.match(await backup, { code: 0 })
  const names = execFileSync('tar', ['-tf', to, '--ignore-zeros'], { encoding: 'utf8' })
  t.match(names, 'egress-events/uid.events')
  t.notMatch(names, /packages|kept-for-all/)
  t.match(await runCommand(['rotate'], env), { code: 0, out: /1 stored secret was sealed anew/ })
  t.not(key(), before)
})
