/** What the pages for operators show of a shell is what it answers, on a server with two sandboxes. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { checkout } from '../support/chroot.ts'
import { stripArguments } from '../support/coverage.ts'
import { server } from '../support/server.ts'
import { disasters } from '../drill/disasters.ts'
import { withoutMachines } from './pages.ts'
import { answersAsSaid, typedIn } from './transcripts.ts'
import { skipFile } from '../support/skip-file.ts'

const read = (name: string) => readFileSync(join(checkout, 'docs', name), 'utf8')

t.setTimeout(120_000)

t.test('the drill tells of what there is to tell', async t => {
  const [{ says } = { says: '' }] = typedIn(read('operating.md')).filter(({ script }) => script === 'make drill')
  const [, ...rows] = says.split('\n')
  t.same(
    rows.map(row => row.split(/ {2,}/)[0]),
    disasters.map(({ name }) => name),
  )
})

t.test('a drill of nothing is none that went well', async t => {
  const program = join(checkout, 'test/drill/main.ts')
  const { status, stdout } = spawnSync(process.execPath, [...stripArguments, program, 'nonsense'], { encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stdout, 'nothing that happens is called "nonsense"')
  for (const { name } of disasters) t.match(stdout, name)
})

skipFile(withoutMachines())

t.test('what is typed is answered as the pages say', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '0.3' })
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-operators-')))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const places = ['/backups', '/srv/other', '/etc/systemd/system']
  for (const place of places) mkdirSync(join(home, dirname(place)), { recursive: true })
  for (const place of ['/backups', '/etc/systemd/system']) mkdirSync(join(home, place), { recursive: true })
  for (const name of ['a', 'b']) {
    const envs = name === 'a' ? [{ name: 'TOKEN', value: 'hush', secret: true }] : []
    const spec = { runtime: { image: 'busybox', memory: 256, envs } }
    t.equal((await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })).status, 200)
    await s.until(name, body => body.state === 'STANDBY')
  }
  const here = (text: string) => places.reduce((said, place) => said.replaceAll(place, home + place), text)
  const prelude = [
    `hutch() { "${process.execPath}" ${stripArguments.join(' ')} "${checkout}/control/main.ts" "$@"; }`,
    `make() { command make --no-print-directory -C "${checkout}" "$@"; }`,
  ].join('\n')
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, HUTCH_DATA_DIR: s.dataDir }
  /** Ids of the page, and the ones that stand for them here. */
  const ids = new Map<string, string>()
  const typed = ['operation.md', 'operating.md']
    .flatMap(page => typedIn(read(page)))
    .filter(({ script }) => script !== 'make drill')
  t.ok(typed.length >= 9, 'all of it is found')
  for (const { script, says } of typed) {
    const own = [...ids].reduce((text, [page, mine]) => text.replaceAll(page, mine), here(script))
    const { stdout, stderr, status } = spawnSync('bash', ['-c', `${prelude}\n${own} 2>&1`], { cwd: home, env })
    const answered = `${stdout}${stderr}`.replaceAll(home, '')
    t.equal(status, 0, `${script}: ${answered}`)
    t.ok(answersAsSaid(says, answered), `${script} answers ${answered}`)
    const found = (text: string) => text.match(/[\da-f]{8}-[\da-f-]{27}/g) ?? []
    for (const [at, id] of found(says).entries()) ids.set(id, found(answered)[at] ?? id)
  }
})
