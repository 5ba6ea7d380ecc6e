import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { checkout } from '../../support/chroot.ts'
import { testFiles } from '../../support/test-files.ts'

/** A place as bare as can be: no HOME, no terminal, no input. */
const bare = {
  cwd: checkout,
  extendEnv: false,
  env: { CI: 'true', PATH: process.env['PATH'] ?? '' },
  stdin: 'ignore',
  reject: false,
} as const

t.test('make lists its targets, and every one says what it does', async t => {
  const { stdout, exitCode } = await execa('make', ['help'], bare)
  t.equal(exitCode, 0)
  const listed = [...stdout.matchAll(/^ {2}make (\S+) +\S/gm)].map(match => match[1])
  const declared = /^\.PHONY: (.*)$/m.exec(readFileSync(join(checkout, 'Makefile'), 'utf8'))?.[1]?.split(' ') ?? []
  t.same(new Set([...listed, 'packages']), new Set(declared))
})

const root = process.geteuid?.() === 0 ? false : 'needs root'
const asNobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups'] as const

t.test('the doctor without root says so in one line, and sets nothing up', { skip: root }, async t => {
  const { all = '', exitCode } = await execa('setpriv', [...asNobody, 'make', 'doctor'], { ...bare, all: true })
  // make has no other code for a failure.
  t.equal(exitCode, 2)
  t.match(all, /^Makefile:\d+: \*\*\* hutch: the doctor tries .* needs root; run: sudo make doctor\. {2}Stop\.$/)
})

t.test('a daemon alone listens on loopback unless told otherwise', async t => {
  const recipe = async (...more: string[]) => (await execa('make', ['--dry-run', 'daemon', ...more], bare)).stdout
  t.match(await recipe(), /daemon\/main\.ts --port "\$PORT" --host "127\.0\.0\.1"/)
  t.match(await recipe('ADDRESS=0.0.0.0'), /--host "0\.0\.0\.0"/)
})

t.test('a part of a path chooses tests, and one that chooses none is an error', async t => {
  const some = await execa('make', ['--dry-run', 'test', 'ONLY=shared/clos'], bare)
  t.match(some.stdout, /test\/run\.ts --only "shared\/clos"$/)
  const run = (...args: string[]) =>
    execa(process.execPath, [join(checkout, 'test/run.ts'), ...args], { ...bare, cwd: '/' })
  t.same(testFiles(checkout, '/', ['--only', 'shared/clos']), [
    'test/shared/closest.test.ts',
    'test/shared/closing.test.ts',
  ])
  t.same(testFiles(checkout, '/', ['--soak', '--only', 'e2e/hostile-p']), ['test/e2e/hostile-page.soak.ts'])
  t.ok(testFiles(checkout, '/', ['--soak']).length > 10)
  t.same(testFiles(checkout, join(checkout, 'test'), ['shared/closest.test.ts']), ['test/shared/closest.test.ts'])
  t.ok(testFiles(checkout, '/', []).length > 100)
  t.match(await run('--only', 'nonsense'), { exitCode: 1, stdout: /^no test file has "nonsense" in its path$/ })
})

t.test('nothing missing: the package step says nothing and needs no rights', async t => {
  const { stdout, stderr, exitCode } = await execa('bash', ['images/setup/apt.sh'], bare)
  t.same({ stdout, stderr, exitCode }, { stdout: '', stderr: '', exitCode: 0 })
})

t.test('something missing without root: says exactly what, changes nothing', async t => {
  const dir = t.testdir({ bin: {} })
  const script = (name: string, text: string) =>
    writeFileSync(join(dir, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  // Only what the step itself runs, so that the rest is missing; the sbin directories are still searched.
  for (const tool of ['sort', 'dirname']) script(tool, `exec /usr/bin/${tool} "$@"`)
  script('id', 'echo 1000')
  script('apt-get', `echo called >> '${join(dir, 'called')}'`)
  const apt = join(checkout, 'images/setup/apt.sh')
  const { stderr, exitCode } = await execa('/bin/bash', [apt], { ...bare, env: { PATH: join(dir, 'bin') } })
  t.equal(exitCode, 1)
  t.match(stderr, /missing on this machine:.* gcc /)
  t.match(stderr, /sudo apt-get update && sudo apt-get install -y .*skopeo/)
  t.notMatch(stderr, /iproute2/, 'names only what is missing')
  t.same(readdirSync(dir), ['bin'], 'nothing is installed')
})

t.test('a tree enters the image directory whole, by whoever is first', async t => {
  const dir = t.testdir({ 'with space': {} })
  const root = join(dir, 'with space')
  const place = (number: number, digest: string) => {
    const work = join(root, '.runtime/images', `.new-${number}`)
    mkdirSync(join(work, 'rootfs'), { recursive: true })
    writeFileSync(join(work, 'rootfs/file'), 'content')
    writeFileSync(join(work, 'image.json'), '{}')
    const line = `umask 077; . "$1"; place app recipe ${digest} "$images/.new-${number}" && is_built app recipe && ! is_built app other`
    return execa('bash', ['-euc', line, 'in', join(checkout, 'images/setup/place.sh')], { ...bare, cwd: root })
  }
  const results = await Promise.all([1, 2, 3].map(number => place(number, 'abc')))
  t.same(
    results.map(result => result.exitCode),
    [0, 0, 0],
    results.map(result => result.stderr).join('\n'),
  )
  t.same(readdirSync(join(root, '.runtime/images')).sort(), ['names', 'recipes', 'trees'])
  t.same(readdirSync(join(root, '.runtime/images/trees')), ['abc'])
  t.equal((await place(4, 'def')).exitCode, 0)
  t.match(JSON.parse(readFileSync(join(root, '.runtime/images/names/app.json'), 'utf8')), { digest: 'def' })
})
