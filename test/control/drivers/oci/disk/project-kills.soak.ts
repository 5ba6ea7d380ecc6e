/**
 * A server that is killed between any two steps of giving a machine's files a project, of taking files from elsewhere into one, and of
 * taking it away: the next start goes on, and in the end the file system knows of no project. Needs TMPDIR on a file system with
 * project quotas, where `test/e2e/project-quotas.soak.ts` runs it.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { countOf, projectOf } from '../../../../../control/drivers/oci/disk/project-quota.ts'
import { filesOf } from '../../../../../control/drivers/oci/layout.ts'
import { skipFile } from '../../../../support/skip-file.ts'

const mount = execFileSync('stat', ['-c', '%m', tmpdir()], { encoding: 'utf8' }).trim()
skipFile(spawnSync('bash', ['test/programs/projects.sh', mount]).status !== 0 && 'TMPDIR has no projects')

const place = mkdtempSync(join(tmpdir(), 'hutch-projects-'))
t.teardown(() => rmSync(place, { recursive: true, force: true }))
mkdirSync(join(place, 'image/etc'), { recursive: true })
const files = filesOf(place, 'm')
const order = join(place, 'order')

/** Runs it, to be killed before its n-th call; says whether it was. */
const run = (verb: 'start' | 'remove', at = 0): boolean => {
  writeFileSync(order, JSON.stringify({ id: `${verb}-${at}`, kind: at ? 'kills' : 'counts', at }))
  const args = ['--disable-warning=ExperimentalWarning', '--import=./test/programs/faults.ts']
  const { status, signal, stderr } = spawnSync(
    process.execPath,
    [...args, 'test/programs/project-steps.ts', verb, place],
    { env: { ...process.env, FAULTS_FILE: order }, encoding: 'utf8' },
  )
  if (signal !== 'SIGKILL' && status !== 0) throw new Error(`${verb} ${at}: ${stderr}`)
  return signal === 'SIGKILL'
}

const known = (): string => execFileSync('bash', ['test/programs/projects.sh', mount], { encoding: 'utf8' })

const eachKill = (t: Test, verb: 'start' | 'remove', before: () => void, after: (at: number) => void): void => {
  let at = 1
  for (; ; at++) {
    before()
    const wasKilled = run(verb, at)
    after(at)
    run('remove')
    if (known() !== '') t.fail(`killed before call ${at} of ${verb}, it left ${known()}`)
    if (!wasKilled) break
  }
  t.comment(`${at - 1} calls`)
  t.ok(at > 3, `killed before each of ${at - 1} calls`)
}

/** Files that have no number, under a number that is nobody's or somebody else's. */
const bringFiles = (disk: object): void => {
  for (const tree of [files.upper, files.private]) mkdirSync(tree, { recursive: true })
  writeFileSync(join(files.upper, 'kept'), 'x'.repeat(1_000_000))
  writeFileSync(join(files.private, 'kept'), 'kept')
  writeFileSync(join(files.dir, 'disk.json'), JSON.stringify(disk))
}

/** All that the machine had is there, and counted. */
const isWhole = (t: Test, about: string): void => {
  const { project } = JSON.parse(readFileSync(join(files.dir, 'disk.json'), 'utf8')) as { project: number }
  t.equal(projectOf(files.upper), project, about)
  t.equal(projectOf(files.private), project, about)
  t.equal(readFileSync(join(files.upper, 'kept'), 'utf8').length, 1_000_000, about)
  t.equal(readFileSync(join(files.private, 'kept'), 'utf8'), 'kept', about)
  execFileSync('sync', ['--file-system', place])
  t.ok(countOf(place, project).bytes >= 1_000_000, `${about}: counted`)
  t.notOk(existsSync(files.settling) || existsSync(`${files.upper}.old`), about)
}

t.test('a new one', async t =>
  eachKill(
    t,
    'start',
    () => {},
    () => {},
  ),
)

t.test('files from elsewhere', async t =>
  eachKill(
    t,
    'start',
    () => bringFiles({ mb: 32, room: 32, project: 2 ** 30 + 77 }),
    at => {
      run('start')
      isWhole(t, `killed before call ${at}`)
    },
  ),
)

t.test('files that lost their number, as a copy does', async t =>
  eachKill(
    t,
    'start',
    () => {
      run('start')
      bringFiles(JSON.parse(readFileSync(join(files.dir, 'disk.json'), 'utf8')))
      cpSync(files.upper, join(place, 'copy'), { recursive: true })
      rmSync(files.upper, { recursive: true })
      renameSync(join(place, 'copy'), files.upper)
    },
    at => {
      run('start')
      isWhole(t, `killed before call ${at}`)
    },
  ),
)

t.test('removing it', async t =>
  eachKill(
    t,
    'remove',
    () => run('start'),
    () => {},
  ),
)
