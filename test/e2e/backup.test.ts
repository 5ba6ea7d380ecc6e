/** A backup of a server whose sandboxes run, and the same server made from it elsewhere; what is killed half-way leaves nothing. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand, startCommand } from '../support/command.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const scratch = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-backup-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const create = async (s: Server, name: string) => {
  const runtime = { image: 'busybox', memory: 256, envs: [{ name: 'HUSH', value: 'a secret', secret: true }] }
  await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime } })
  await s.until(name, body => body.status === 'DEPLOYED')
}

const exec = async (s: Server, name: string, command: string): Promise<string> =>
  (await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body.logs

/** What each sandbox has cost until then, USD. */
const billed = async (s: Server, endTime: string): Promise<Map<string, number>> => {
  const [{ id }] = (await s.call('GET', '/v0/accounts')).body
  const startTime = new Date(Date.parse(endTime) - 3_600_000).toISOString()
  const query = `startTime=${startTime}&endTime=${endTime}&groupBy=resource_name`
  const { data } = (await s.call('GET', `/v0/accounts/${id}/metrics?${query}`)).body
  return new Map(
    data.map((row: { resourceName: string; summary: { cost: number } }) => [row.resourceName, row.summary.cost]),
  )
}

/** A second of 256 MB, and a little. */
const second = 0.000003

/** A file that says the same in two places, always: half of it is a torn copy. */
const pairs = 'i=0; while true; do i=$((i+1)); printf "%d\\n" $i >> /a; printf "%d\\n" $i >> /b; done'

t.test('taken while sandboxes run; restored elsewhere it is the same', async t => {
  const dir = scratch(t)
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '0.5', HUTCH_WARM: '*=1' })
  await create(s, 'busy')
  await create(s, 'asleep')
  await exec(
    s,
    'asleep',
    'echo kept > /kept; ln /kept /hard; ln -s kept /soft; rm /bin/vi; mkfifo /pipe; chown 7:8 /kept',
  )
  await s.call('POST', '/default/sandboxes/busy/process', { command: pairs, keepAlive: true, name: 'pairs' })
  await s.until('asleep', body => body.state === 'STANDBY')
  const isReady = async () => (await s.call('GET', '/v0/warm-pools')).body.pools[0].ready === 1
  await until(isReady, 'a machine of nobody, which is not copied')
  const to = join(dir, 'backup.tar')
  const env = { HUTCH_DATA_DIR: s.dataDir }
  const made = await runCommand(['backup', to], env)
  const takenAt = new Date().toISOString()
  const bill = await billed(s, takenAt)
  t.match(made, { code: 0, out: /backup\.tar: 2 sandboxes, .* MB; the longest stood still for \d+ ms/ })
  t.equal((await s.call('GET', '/v0/sandboxes/asleep')).body.state, 'STANDBY', 'who slept sleeps on')
  const before = await exec(s, 'busy', 'wc -l < /a')
  await until(async () => (await exec(s, 'busy', 'wc -l < /a')) !== before, 'what ran to run on')
  t.match(await runCommand(['backup', to], env), { code: 1, error: /already exists/ }, 'never over another')
  const nowhere = join(dir, 'none/x.tar')
  t.match(await runCommand(['backup', nowhere], env), {
    code: 1,
    error: /cannot be made \(ENOENT\); name a file in a /,
  })
  const key = (await runCommand(['key', 'create', 'later'], env)).out.trim()
  await create(s, 'later')
  t.equal(await s.stop(), 0)

  const restored = await server(t, { HUTCH_WARM: '*=1' }, [], async ({ dataDir }) => {
    const into = { HUTCH_DATA_DIR: dataDir }
    writeFileSync(join(dataDir, 'mine'), 'x')
    t.match(
      await runCommand(['restore', to], into),
      { code: 1, error: /already exists/ },
      'never into what is not empty',
    )
    t.same(readdirSync(dataDir), ['mine'])
    const [missing, fresh] = [join(dir, 'none'), join(dir, 'fresh')]
    t.match(await runCommand(['restore', missing], { HUTCH_DATA_DIR: fresh }), {
      code: 1,
      error: /none cannot be read \(ENOENT\); name a backup/,
    })
    t.notOk(existsSync(fresh), 'and nothing is made')
    rmSync(join(dataDir, 'mine'))
    t.match(await runCommand(['restore', to], into), { code: 0, out: /with the files of 2 sandboxes/ })
  })
  t.equal(restored.key, s.key)
  await restored.until('busy', body => body.status === 'DEPLOYED')
  await restored.until('asleep', body => body.status === 'DEPLOYED')
  t.equal((await restored.call('GET', '/v0/sandboxes/later')).status, 404)
  const stranger = { authorization: `Bearer ${key}` }
  t.equal((await restored.call('GET', '/v0/sandboxes', undefined, stranger)).status, 401, 'a key that came later')
  const looks = 'cat /soft; stat -c "%h %u %g" /hard; ls /bin/vi 2>&1; test -p /pipe && echo pipe; echo $HUSH'
  t.equal(
    await exec(restored, 'asleep', looks),
    'kept\n2 7 8\nls: /bin/vi: No such file or directory\npipe\na secret\n',
  )
  t.match(
    (await restored.call('GET', '/default/sandboxes/busy/process/pairs')).body,
    { name: 'pairs', keepAlive: true },
    'what the daemon keeps beside the tree is there',
  )
  const restoredBill = await billed(restored, takenAt)
  for (const [name, cost] of bill) {
    const now = restoredBill.get(name) ?? 0
    t.ok(cost > 0 && Math.abs(now - cost) <= second, `${name} cost ${cost} and now ${now}: none twice, no second lost`)
  }
  const [a = [], b = []] = (await exec(restored, 'busy', 'cat /a; echo; cat /b'))
    .split('\n\n')
    .map(text => text.trim().split('\n'))
  t.ok(a.length > 10)
  t.ok(a.length - b.length <= 1 && a.length >= b.length, `one moment: ${a.length} and ${b.length} lines`)
  t.same(
    a,
    a.map((_, at) => String(at + 1)),
    'whole lines',
  )
})

t.test('killed over a backup: there is none, nothing stays asleep by it, and the next one is whole', async t => {
  const dir = scratch(t)
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  await create(s, 'big')
  await exec(s, 'big', 'dd if=/dev/urandom of=/blob bs=1M count=40 2>/dev/null')
  const to = join(dir, 'backup.tar')
  const { ended } = startCommand(['backup', to], { HUTCH_DATA_DIR: s.dataDir })
  await until(() => existsSync(join(`${to}.part`, 'archive')), 'it to begin')
  await s.kill()
  t.match(await ended, { code: 1 })
  t.same(readdirSync(dir), ['backup.tar.part'], 'what is half made is called so')
  await s.start()
  t.equal(await exec(s, 'big', 'echo awake'), 'awake\n')
  t.match(await runCommand(['backup', to], { HUTCH_DATA_DIR: s.dataDir }), { code: 0 })
  t.same(readdirSync(dir), ['backup.tar'])
})

t.test('killed over a restore: no server begins with half of it, and it can be had again', async t => {
  const dir = scratch(t)
  const s = await server(t)
  await create(s, 'big')
  await exec(s, 'big', 'dd if=/dev/urandom of=/blob bs=1M count=40 2>/dev/null; sha256sum /blob > /sum')
  const to = join(dir, 'backup.tar')
  t.match(await runCommand(['backup', to], { HUTCH_DATA_DIR: s.dataDir }), { code: 0 })
  const torn = join(dir, 'torn.tar')
  copyFileSync(to, torn)
  truncateSync(torn, statSync(torn).size - 20_480)
  await s.stop()
  const again = await server(t, {}, [], async ({ dataDir }) => {
    const env = { HUTCH_DATA_DIR: dataDir, HUTCH_PORT: '0' }
    t.match(await runCommand(['restore', torn], env), { code: 1, error: /is not a whole backup/ })
    t.same(readdirSync(dataDir), [])
    const { child, ended } = startCommand(['restore', to], env)
    await until(() => existsSync(join(dataDir, '.restore/machines')), 'it to be half-way')
    child.kill('SIGKILL')
    await ended
    t.match(await runCommand(['run'], env), { code: 1, error: /a restore into .* was not finished; run it again/ })
    t.match(await runCommand(['restore', to], env), { code: 0 })
  })
  await again.until('big', body => body.status === 'DEPLOYED')
  t.equal(await exec(again, 'big', 'sha256sum -c /sum'), '/blob: OK\n')
})
