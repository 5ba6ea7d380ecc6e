/**
 * What an operator does who updates: a server of an earlier build, with sandboxes awake and asleep, is killed; the same
 * checkout becomes today's, and starts on the same data. Nothing is lost, and nothing that runs notices.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask, until, type Target } from '../contract/target.ts'
import { earlierCheckout, earlierSources, hasCommit } from '../support/earlier-build.ts'
import { server, type Server } from '../support/server.ts'
import { sample } from '../support/thorough.ts'

/** One of each time whose machines differed; every run takes the first, which differs most. */
const builds = [
  {
    commit: 'd12f098',
    what: 'the first one: daemons without a channel, root inside is user 0 of the box',
    olderSchema: true,
  },
  { commit: '6fac461', what: 'users of their own, a channel, machines made ahead of need', olderSchema: false },
]

const targetOf = (s: Server, name: string): Target => ({
  url: `${s.url}/default/sandboxes/${name}`,
  headers: { authorization: `Bearer ${s.key}` },
  workdir: '/',
  scratch: '/tmp',
  gateway: true,
  ownNetwork: true,
})

const run = async (s: Server, name: string, command: string): Promise<string> =>
  (await ask(targetOf(s, name), 'POST', '/process', { body: { command, waitForCompletion: true } })).body.stdout

/** What machines cost in the last hour, USD by machine. */
const billOf = async (s: Server): Promise<Record<string, number>> => {
  const [account] = (await s.call('GET', '/v0/accounts')).body
  const hour = (ms: number) => encodeURIComponent(new Date(Date.now() + ms).toISOString())
  const window = `startTime=${hour(-3_600_000)}&endTime=${hour(60_000)}`
  const { body } = await s.call('GET', `/v0/accounts/${account.id}/metrics?${window}&groupBy=resource_uuid`)
  return Object.fromEntries(
    body.data.map((line: { resourceUuid: string; summary: { cost: number } }) => [
      line.resourceUuid,
      line.summary.cost,
    ]),
  )
}

const make = async (s: Server, name: string, memory: number): Promise<void> => {
  const spec = { runtime: { image: 'base', memory, envs: [{ name: 'TOP', value: 'of-the-spec' }] } }
  t.equal((await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })).status, 200)
  await run(s, name, `echo ${name} > /root/kept`)
  await ask(targetOf(s, name), 'POST', '/process', { body: { command: 'exec sleep 5000', name: 'kept' } })
}

const everything = async (t: Test, s: Server, name: string): Promise<void> => {
  t.equal(
    await run(s, name, 'cat /root/kept; echo $TOP'),
    `${name}\nof-the-spec\n`,
    `${name} has its files and variables`,
  )
  t.match((await ask(targetOf(s, name), 'GET', '/process/kept')).body, { status: 'running' }, 'what ran runs')
}

/** Which bundle the machine's daemon is of; the first builds do not say. */
const bundleOf = async (s: Server, name: string): Promise<string | undefined> =>
  (await ask(targetOf(s, name), 'GET', '/health')).body.lastUpgrade?.binaryPath

t.setTimeout(240_000)

for (const { commit, what, olderSchema } of sample(builds, 2))
  t.test(what, { skip: hasCommit(commit) ? false : `this clone has no commit ${commit}` }, async t => {
    const checkout = earlierCheckout(t, commit)
    const s = await server(t, { HUTCH_STANDBY_SECONDS: '2' }, checkout.within)
    await make(s, 'asleep', 512)
    await s.until('asleep', body => body.state === 'STANDBY')
    await make(s, 'awake', 1024)
    const sleep = await run(s, 'awake', 'pidof sleep')
    const bill = await billOf(s)
    const key = s.key
    await s.kill()

    checkout.update()
    await s.start()

    await t.test('records, key, bill, files and programs are there', async t => {
      t.equal(readFileSync(join(s.dataDir, 'admin-key'), 'utf8').trim(), key)
      t.match((await s.call('GET', '/v0/sandboxes/asleep')).body, { status: 'DEPLOYED', state: 'STANDBY' })
      t.match((await s.call('GET', '/v0/sandboxes/awake')).body, { status: 'DEPLOYED' })
      for (const name of ['awake', 'asleep']) await everything(t, s, name)
      t.equal(await run(s, 'awake', 'pidof sleep'), sleep, 'the very same process')
      const now = await billOf(s)
      t.same(Object.keys(now).toSorted(), Object.keys(bill).toSorted(), 'the same machines are metered')
      for (const [machine, cost] of Object.entries(bill)) t.ok((now[machine] ?? 0) >= cost, 'and their cost goes on')
    })

    await t.test('an upgrade brings the daemon of today, and the program runs on', async t => {
      t.equal((await ask(targetOf(s, 'awake'), 'POST', '/upgrade')).status, 200)
      const newest = readFileSync(join(checkout.dir, '.runtime/bundles/latest'), 'utf8').trim()
      await until('the upgrade', async () => (await bundleOf(s, 'awake'))?.endsWith(newest))
      await everything(t, s, 'awake')
      t.equal(await run(s, 'awake', 'pidof sleep'), sleep)
    })

    await t.test('started anew they are machines of today, with their files', async t => {
      for (const name of ['awake', 'asleep']) {
        t.equal((await s.call('POST', `/v0/sandboxes/${name}/restart`)).status, 200)
        t.equal(await run(s, name, 'cat /root/kept'), `${name}\n`)
        t.match(await run(s, name, 'cat /proc/self/uid_map'), /^\s*0\s+[1-9]/, 'root inside is nobody outside')
      }
    })

    await t.test('they are deleted without a trace', async t => {
      for (const name of ['awake', 'asleep']) {
        t.equal((await s.call('DELETE', `/v0/sandboxes/${name}`)).status, 200)
        await s.until(name, (body, status) => status === 404 || body.status === 'TERMINATED')
      }
      t.same(readdirSync(join(s.dataDir, 'machines')), [])
    })

    if (!olderSchema) return
    await t.test('the earlier build refuses what today has written, in one line', async t => {
      t.equal(await s.stop(), 0)
      const refusing = earlierSources(t, commit)
      const { status, stderr } = spawnSync(process.execPath, ['control/main.ts', 'run'], {
        cwd: refusing,
        env: { PATH: process.env['PATH'] ?? '', HUTCH_DATA_DIR: s.dataDir, HUTCH_PORT: '0', HUTCH_LOG_LEVEL: 'error' },
        encoding: 'utf8',
        timeout: 60_000,
      })
      t.equal(status, 1)
      t.match(stderr.trim().split('\n'), [/^hutch: the database has schema \d+ and this build knows 2 at most; /])
    })
  })
