/** The package as its users have it: packed, installed where nothing can be compiled, and used in every way it is documented. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { openHierarchy } from '../../../control/drivers/oci/cgroup/hierarchy.ts'
import { namesOf, tagOf } from '../../../control/drivers/oci/names.ts'
import { sweepInstance } from '../../../control/drivers/oci/sweep.ts'
import { systemClock } from '../../../shared/clock.ts'
import { checkout } from '../../support/chroot.ts'
import { inCleanRoot, npmVersions, withoutCleanRoot } from '../../support/clean-root.ts'
import { traces } from '../../support/oci.ts'
import { sample } from '../../support/thorough.ts'
import { skipFile } from '../../support/skip-file.ts'

skipFile(withoutCleanRoot())

const work = mkdtempSync(join(tmpdir(), 'hutch-package-'))
const dataDir = join(work, 'data')
mkdirSync(dataDir)
const names = namesOf(tagOf(dataDir))
t.teardown(async () => {
  await sweepInstance(await openHierarchy(), names, systemClock())
  rmSync(work, { recursive: true, force: true })
})

/** The example of the library's page, on a data directory of this test. */
const example = /```ts\n([^]*?)```/
  .exec(readFileSync(join(checkout, 'docs/library.md'), 'utf8'))?.[1]
  ?.replace('/var/lib/hutch', dataDir) as string
/** What the example does not say, so that there is something to look at. */
const says = `console.log(JSON.stringify({ exitCode, stdout }))\n`
const asModule = example + says
const asCommonJs = `(async () => {\n${asModule.replace(/^import (.*) from 'hutch'$/m, `const $1 = require('hutch')`)}})()\n`

const project = (name: string): string => {
  const dir = join(work, name)
  mkdirSync(dir)
  writeFileSync(join(dir, 'package.json'), '{"private": true}\n')
  writeFileSync(join(dir, 'example.mjs'), asModule)
  writeFileSync(join(dir, 'example.cjs'), asCommonJs)
  return dir
}

const run = (dir: string, line: string, npm: (typeof npmVersions)[number] = npmVersions[0]) =>
  inCleanRoot({ shared: work, npm }, `cd ${dir}; ${line}`)

const works = async (t: Test, dir: string, line: string, pattern: RegExp): Promise<void> => {
  const { all, exitCode } = await run(dir, line)
  t.equal(exitCode, 0, `${line}: ${all.slice(-2_000)}`)
  t.match(all, pattern, line)
}

const pack = (): string => {
  const args = ['pack', '--json', '--pack-destination', work]
  const answer = execFileSync('npm', args, { cwd: checkout, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const [{ filename }] = JSON.parse(answer) as [{ filename: string }]
  return join(work, filename)
}

// Packing, and making the root the first time, take longer than tests usually do.
t.setTimeout(600_000)
const archive = pack()

t.test('the root has nothing to compile with', async t => {
  const { all } = await run(work, 'command -v gcc cc g++ clang make python3; npm --version; node --version')
  t.match(all, /^11\.\d+\.\d+\nv24\.\S+$/)
})

t.test('what is in the package', async t => {
  const listed = execFileSync('tar', ['tzf', archive], { encoding: 'utf8' }).trim().split('\n')
  for (const file of ['LICENSE', 'README.md', 'THIRD-PARTY-NOTICES.txt', 'dist/hutch.cjs', 'dist/control/index.d.ts'])
    t.ok(listed.includes(`package/${file}`), file)
  t.same(
    listed.filter(file => file.endsWith('.ts') && !file.endsWith('.d.ts')),
    [],
    'no sources that Node would have to strip',
  )
  t.same(
    listed.filter(file => /^package\/(test|daemon|node_modules|\.runtime)\//.test(file)),
    [],
  )
  t.ok(statSync(archive).size < 60e6, `${statSync(archive).size} bytes`)
  const notices = execFileSync('tar', ['xzOf', archive, 'package/THIRD-PARTY-NOTICES.txt'], { encoding: 'utf8' })
  for (const part of [
    'Node.js v24',
    'zod 4',
    'node-pty 1',
    'libc6',
    'ripgrep',
    'busybox-static',
    'GNU GENERAL PUBLIC LICENSE',
  ])
    t.match(notices, part)
})

const installs = npmVersions.flatMap(npm => [
  { npm, kind: 'with the scripts npm would run', flags: '' },
  { npm, kind: 'without any script', flags: '--ignore-scripts' },
])
// The first and the last of the four say the most.
for (const { npm, kind, flags } of sample(installs, 3))
  t.test(`npm ${npm} installs it ${kind}`, async t => {
    const dir = project(`npm-${npm}${flags}`)
    const { all, exitCode } = await run(dir, `npm install --no-audit --no-fund ${flags} ${archive}`, npm)
    t.equal(exitCode, 0, all)
    const lock = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>
    }
    const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    t.same(scripted, [], 'nothing of it has a script to install')
  })

const installed = join(work, `npm-${npmVersions[1]}--ignore-scripts`)

t.test('the command', async t => {
  await works(t, installed, 'npx hutch --version', /^hutch \d+\.\d+\.\d+ \(Node v24/)
  await works(
    t,
    installed,
    `HUTCH_DATA_DIR=${dataDir} npx hutch doctor`,
    /the runtime bundle: in the package.*[^]*Hutch can run here/,
  )
  t.notMatch(readFileSync(join(installed, 'package.json'), 'utf8'), 'runtime')
  const wrong = await run(installed, 'npx hutch rnu')
  t.match(wrong.all, /^hutch: unknown command "rnu"; did you mean run\?; see hutch --help$/)
})

t.test('the example of the library page, as a module and as CommonJS', async t => {
  for (const file of ['example.mjs', 'example.cjs'])
    await works(t, installed, `node ${file}`, /^\{"exitCode":0,"stdout":"42\\n"\}$/)
  t.ok(existsSync(join(dataDir, 'runtime/bundle/bundle.json')), 'the bundle is in the data directory')
  t.notOk(existsSync(join(installed, '.hutch')), 'and nothing in the current one')
})

t.test('TypeScript, strict, with every declaration checked', async t => {
  writeFileSync(join(installed, 'module.mts'), asModule)
  const [, head, body] = /^(import .*\n)([^]*)$/.exec(asModule) as unknown as [string, string, string]
  writeFileSync(join(installed, 'common.cts'), `${head}export const main = async () => {\n${body}}\n`)
  const flags = '--noEmit --strict --skipLibCheck false --target es2024 --module nodenext'
  await works(t, installed, `node /tools/node_modules/typescript/bin/tsc ${flags} module.mts common.cts`, /^$/)
  writeFileSync(join(installed, 'wrong.mts'), asModule.replace('memoryMb', 'memoryMB'))
  const { all, exitCode } = await run(installed, `node /tools/node_modules/typescript/bin/tsc ${flags} wrong.mts`)
  t.not(exitCode, 0)
  t.match(all, /wrong\.mts.*memoryMB/)
})

t.test('a server of the package says which image is missing and how to get it', async t => {
  const line = [
    `HUTCH_DATA_DIR=${dataDir} HUTCH_PORT=0 node_modules/.bin/hutch run >out 2>&1 & server=$!`,
    'until grep -qs "serving on" out; do kill -0 $server || break; sleep 0.1; done',
    'cat out; kill $server; wait $server',
  ].join('; ')
  await works(t, installed, line, /the image base is not built; npx hutch image base does it/)
})

t.test('an older Node gets one clear line', async t => {
  const older = '/usr/bin/node'
  const version = await execa(older, ['--version'], { reject: false })
  if (version.failed || Number(/^v(\d+)/.exec(version.stdout)?.[1]) >= 24) {
    t.pass('skipped: needs an older Node', { skip: 'needs an older Node' })
    return
  }
  const command = await execa(older, [join(installed, 'node_modules/.bin/hutch'), 'run'], { reject: false, all: true })
  t.equal(command.exitCode, 1)
  t.match(command.all, /^hutch: needs Node 24 or newer, and this is Node v\d+\.\d+\.\d+; see https:\/\/nodejs\.org$/)
  for (const file of ['example.mjs', 'example.cjs']) {
    const { stderr, exitCode } = await execa(older, [file], { cwd: installed, reject: false })
    t.not(exitCode, 0)
    t.match(
      stderr,
      /^Error: hutch: needs Node 24 or newer, and this is Node v[\d.]+; see https:\/\/nodejs\.org$/m,
      file,
    )
  }
})

t.test('nothing is left on the box', async t => {
  t.same(traces(names), [])
})
