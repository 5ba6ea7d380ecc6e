import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { loaderName } from '../../../../shared/bundle.ts'
import { pruneBundles } from '../../../../control/core/runtime/prune.ts'

const hold = fileURLToPath(new URL('../../../../daemon/upgrade/bundle-lock.ts', import.meta.url))
const hour = 3_600_000
const now = Date.now()
const nameOf = (number: number): string => number.toString(16).padStart(32, '0')

/** Bundles 1, 2, … of which each was built a day before the one before it; `current` leads to the last and oldest. */
const bundles = (t: Test, count: number): string => {
  const dir = realpathSync(t.testdir())
  for (let number = 1; number <= count; number++) {
    const bundle = join(dir, nameOf(number))
    for (const name of ['lib', 'bin', 'releases']) mkdirSync(join(bundle, name), { recursive: true })
    writeFileSync(join(bundle, '.inputs'), 'stamp\n')
    writeFileSync(join(bundle, 'bundle.json'), '{}\n')
    utimesSync(join(bundle, '.inputs'), new Date(), new Date(now - number * 24 * hour))
  }
  symlinkSync(nameOf(count), join(dir, 'current'))
  return dir
}

const left = (dir: string): number[] =>
  readdirSync(dir)
    .filter(name => name.length === 32)
    .map(name => Number.parseInt(name, 16))
    .sort((a, b) => a - b)

const root = process.geteuid?.() === 0 ? false : 'needs root'

/** Ends with the test. */
const running = async (t: Test, file: string, args: readonly string[]): Promise<ChildProcess> => {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await once(child, 'spawn')
  return child
}

t.test('the newest stay, and the one that is current', { skip: root }, async t => {
  const dir = bundles(t, 9)
  t.same(
    pruneBundles(dir, now)
      .map(name => Number.parseInt(name, 16))
      .sort(),
    [6, 7, 8],
  )
  t.same(left(dir), [1, 2, 3, 4, 5, 9])
  t.same(pruneBundles(dir, now), [], 'once')
})

t.test('what was built within an hour stays, however many there are', { skip: root }, async t => {
  const dir = bundles(t, 9)
  for (const name of readdirSync(dir))
    if (name.length === 32) utimesSync(join(dir, name, '.inputs'), new Date(), new Date(now))
  t.same(pruneBundles(dir, now), [])
})

t.test('what somebody holds open stays until it is let go', { skip: root }, async t => {
  const dir = bundles(t, 9)
  const fd = openSync(join(dir, nameOf(7)), 'r')
  pruneBundles(dir, now)
  t.same(left(dir), [1, 2, 3, 4, 5, 7, 9])
  closeSync(fd)
  pruneBundles(dir, now)
  t.same(left(dir), [1, 2, 3, 4, 5, 9])
})

t.test('what a daemon has locked stays', { skip: root }, async t => {
  const dir = bundles(t, 9)
  const script = join(dir, nameOf(8), 'daemon/boot.js')
  const code = `import { lockBundles } from '${hold}'; lockBundles('${script}'); console.log('held'); process.stdin.resume()`
  const child = await running(t, process.execPath, ['--input-type=module', '-e', code])
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  pruneBundles(dir, now)
  t.same(left(dir), [1, 2, 3, 4, 5, 8, 9])
})

t.test('what a program runs from stays', { skip: root }, async t => {
  const dir = bundles(t, 9)
  // In the place of the loader, which is what a daemon of the bundle is started by.
  const program = join(dir, nameOf(6), 'lib', loaderName)
  copyFileSync(realpathSync('/bin/cat'), program)
  await running(t, program, [])
  pruneBundles(dir, now)
  t.same(left(dir), [1, 2, 3, 4, 5, 6, 9])
})

t.test('what is mounted in another namespace stays', { skip: root }, async t => {
  const dir = bundles(t, 9)
  const script = 'mount --bind "$1" "$2" && echo mounted && exec cat'
  mkdirSync(join(dir, 'place'))
  const child = await running(t, 'unshare', ['-m', 'sh', '-c', script, 'sh', join(dir, nameOf(8)), join(dir, 'place')])
  const [said] = await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), once(child, 'exit')])
  if (!String(said).startsWith('mounted')) {
    t.comment('this machine mounts nothing: not looked at')
    return
  }
  pruneBundles(dir, now)
  t.same(left(dir), [1, 2, 3, 4, 5, 8, 9])
})

t.test('what a build that was killed has left goes, what is being built stays', { skip: root }, async t => {
  const dir = bundles(t, 1)
  for (const name of ['.new-abc', '.gone-abc', '.new-young']) mkdirSync(join(dir, name))
  for (const name of ['.new-abc', '.gone-abc']) utimesSync(join(dir, name), new Date(), new Date(now - 2 * hour))
  pruneBundles(dir, now)
  t.same(
    ['.new-abc', '.gone-abc', '.new-young'].filter(name => existsSync(join(dir, name))),
    ['.new-young'],
  )
})
