/** Rows of the database that cannot be read: the host starts, goes on with the others, and what belongs to the row stays as it is. */
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { recordFindings } from '../../control/ops/doctor/records.ts'
import { silentLog } from '../../shared/log.ts'
import { call } from '../support/call.ts'
import { openTestHost, type TestHost } from '../support/whole-host.ts'

const digest = '0'.repeat(64)

const spec = { runtime: { image: 'base', memory: 256 } }

/** Two sandboxes that run, and a host on what is left when `damage` was done to the database. */
const reopened = async (t: Test, damage: (db: BetterSqlite.Database, uid: string) => void) => {
  const images = { names: { base: digest }, trees: { [digest]: { rootfs: {} } } }
  const dataDir = t.testdir({ images })
  const before = await openTestHost(t, dataDir)
  // One after the other: in lists, the torn one is in the middle.
  for (const name of ['whole', 'torn']) {
    await before.api('POST', '/sandboxes', { metadata: { name }, spec })
    await before.until(name, 'DEPLOYED')
  }
  const [torn] = (await before.host.store.resources.everyOf('sandbox')).filter(({ name }) => name === 'torn')
  const { world } = before
  const machines = [...world.machines.keys()].toSorted()
  const [machine] = await before.host.store.instances.ofOwner(torn?.uid ?? '')
  await before.close()
  const db = new BetterSqlite(join(dataDir, 'hutch.db'))
  damage(db, torn?.uid ?? '')
  db.close()
  const said: { event: string; fields: unknown }[] = []
  const log = { ...silentLog, error: (event: string, fields: unknown) => void said.push({ event, fields }) }
  const removal = Promise.withResolvers<void>()
  const faults = (step: string) => (step === 'remove.before' ? removal.promise : undefined)
  const after = await openTestHost(t, dataDir, { world, log: { ...silentLog, ...log }, faults })
  return { after, removal, world, machines, machine: machine?.id ?? '', said, uid: torn?.uid ?? '' }
}

const findings = ({ host }: TestHost) => recordFindings(host.store)

interface Listed {
  readonly names: readonly string[]
  /** Of what could not be read. */
  readonly said: string | undefined
}

/** What listings show, and what they say of the rest: by pages of one, all at once, and as before there were pages. */
const listings = async ({ api, host }: TestHost): Promise<readonly Listed[]> => {
  const namesOf = (items: { metadata: { name: string } }[]) => items.map(({ metadata }) => metadata.name)
  const paged: string[] = []
  const said = new Set<string>()
  for (let cursor = '', more = true; more; ) {
    const { body, headers } = await api('GET', `/sandboxes?limit=1&cursor=${cursor}`)
    paged.push(...namesOf(body.data))
    if (headers['x-svc-warnings']) said.add(headers['x-svc-warnings'])
    cursor = body.meta.nextCursor
    more = body.meta.hasMore
  }
  const whole = await api('GET', '/sandboxes')
  const older = await call(host.api, 'GET', '/v0/sandboxes', {
    headers: { authorization: `Bearer ${host.first.adminKey}` },
  })
  return [
    { names: paged, said: said.size > 0 ? [...said].join() : undefined },
    { names: namesOf(whole.body.data), said: whole.headers['x-svc-warnings'] },
    { names: namesOf(older.body), said: older.headers['x-svc-warnings'] },
  ]
}

/** Deletes `torn`: its machine goes and costs nothing more, and in the end nothing is left that cannot be read. */
const deletes = async (
  t: Test,
  { after, removal, world, machine }: Awaited<ReturnType<typeof reopened>>,
): Promise<void> => {
  const { api, host } = after
  const { status, body } = await api('DELETE', '/sandboxes/torn')
  t.equal(status, 200)
  t.match(body, { metadata: { name: 'torn' }, status: 'DELETING' })
  t.ok(world.machines.has(machine))
  const intervals = await host.store.meter.intervals(machine)
  t.ok(intervals.length > 0)
  t.same(
    intervals.filter(({ to }) => to === null),
    [],
    'it costs nothing from the delete on',
  )
  removal.resolve()
  await after.until('torn', 'TERMINATED')
  t.notOk(world.machines.has(machine), 'its machine is gone')
  t.ok(world.machines.size > 0, 'the others are not')
  t.match((await api('GET', '/audit?kind=sandbox&action=delete')).body.data, [
    { name: 'torn', detail: { unreadable: true } },
  ])
  t.match(await findings(after), [{ ok: true }])
  for (const { names, said } of await listings(after)) {
    t.notOk(names.includes('torn'))
    t.equal(said, undefined)
  }
}

for (const [what, body] of [
  ['no JSON', '{"metadata":{'],
  ['no object', 'null'],
  ['without a spec', '{"metadata":{},"internal":{}}'],
] as const)
  t.test(`a record that is ${what} keeps no other from starting`, async t => {
    const given = await reopened(t, (db, uid) =>
      db.prepare('UPDATE resources SET body = ? WHERE uid = ?').run(body, uid),
    )
    const { after, world, machines, said, uid } = given
    t.equal((await after.api('GET', '/sandboxes/whole')).body.status, 'DEPLOYED')
    const made = await after.api('POST', '/sandboxes', { metadata: { name: 'later' }, spec })
    t.equal(made.status, 200)
    await after.until('later', 'DEPLOYED')
    const asked = await after.api('GET', '/sandboxes/torn')
    t.equal(asked.status, 503)
    t.match(JSON.stringify(asked.body), uid)
    t.match(said, [{ event: 'record.unreadable', fields: { record: uid } }])
    for (const id of machines) t.equal(world.machines.get(id)?.phase, 'running', 'its machine is left alone')
    t.match(await findings(after), [{ ok: false, what: uid }])
    for (const listed of await listings(after))
      t.same(listed, { names: ['later', 'whole'], said: '"torn cannot be read"' }, 'lists have the others, and name it')
    await deletes(t, given)
  })

for (const column of ['body', 'errors', 'address', 'image'])
  t.test(`an instance whose ${column} cannot be read is left alone`, async t => {
    const given = await reopened(t, (db, uid) =>
      db.prepare(`UPDATE instances SET ${column} = '{' WHERE owner = ?`).run(uid),
    )
    const { after, world, machines, said } = given
    t.equal((await after.api('GET', '/sandboxes/whole')).body.status, 'DEPLOYED')
    t.same([...world.machines.keys()].toSorted(), machines, 'its machine is no orphan')
    t.match(
      said.map(({ event }) => event),
      ['instance.unreadable'],
    )
    t.match(await findings(after), [{ ok: false, what: `${column} of ` }])
    for (const listed of await listings(after))
      t.same(listed, { names: ['torn', 'whole'], said: '"torn cannot be read"' }, 'lists have it, and say so')
    await deletes(t, given)
  })

t.test("a workspace's labels that cannot be read keep nobody in it from anything, and are not lost unsaid", async t => {
  const { after } = await reopened(t, db => {
    db.exec("UPDATE workspaces SET labels = 'x'")
    db.exec("UPDATE api_keys SET scopes = '['")
  })
  const { api } = after
  t.equal((await api('GET', '/sandboxes/whole')).status, 200, "with the operator's key, which is made anew")
  t.match(await findings(after), [{ ok: false, what: /table workspaces/ }])
  t.equal((await findings(after)).length, 1)
  const said = '"default.labels cannot be read"'
  const listed = await api('GET', '/workspaces')
  t.match(listed, { status: 200, body: [{ name: 'default' }], headers: { 'x-svc-warnings': said } })
  t.match(await api('GET', '/workspaces/default'), { status: 200, headers: { 'x-svc-warnings': said } })
  t.equal((await api('PUT', '/workspaces/default', { displayName: 'D' })).status, 503)
  t.match(await findings(after), [{ ok: false }], 'they stay as they are')
  const mended = await api('PUT', '/workspaces/default', { displayName: 'D', labels: { a: 'b' } })
  t.match(mended, { status: 200, body: { displayName: 'D', labels: { a: 'b' } } })
  t.match(await findings(after), [{ ok: true }])
  t.equal((await api('GET', '/workspaces')).headers['x-svc-warnings'], undefined)
})

t.test('a key that cannot be read opens nothing, and another one can be revoked', async t => {
  const dataDir = t.testdir({ images: {} })
  const { api, host } = await openTestHost(t, dataDir)
  const db = new BetterSqlite(join(dataDir, 'hutch.db'))
  t.teardown(() => db.close())
  const [torn, leaked] = [
    (await api('POST', '/api_keys', { name: 'torn' })).body,
    (await api('POST', '/api_keys', { name: 'leaked' })).body,
  ]
  db.prepare("UPDATE api_keys SET scopes = '[' WHERE id = ?").run(torn.id)
  const names = async () => (await api('GET', '/api_keys')).body.map(({ name }: { name: string }) => name)
  t.notOk((await names()).includes('torn'))
  t.ok((await names()).includes('leaked'))
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
  t.equal((await call(host.api, 'GET', '/v0/sandboxes', as(torn.apiKey))).status, 503)
  t.equal((await api('DELETE', `/api_keys/${leaked.id}`)).status, 200)
  t.equal((await call(host.api, 'GET', '/v0/sandboxes', as(leaked.apiKey))).status, 401)
})
