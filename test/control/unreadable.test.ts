/** Rows of the database that cannot be read: the host starts, goes on with the others, and what belongs to the row stays as it is. */
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { recordFindings } from '../../control/doctor/records.ts'
import { silentLog } from '../../shared/log.ts'
import { openTestHost, type TestHost } from '../support/whole-host.ts'

const digest = '0'.repeat(64)

const spec = { runtime: { image: 'base', memory: 256 } }

/** Two sandboxes that run, and a host on what is left when `damage` was done to the database. */
const reopened = async (t: Test, damage: (db: BetterSqlite.Database, uid: string) => void) => {
  const images = { names: { base: digest }, trees: { [digest]: { rootfs: {} } } }
  const dataDir = t.testdir({ images })
  const before = await openTestHost(t, dataDir)
  for (const name of ['torn', 'whole']) await before.api('POST', '/sandboxes', { metadata: { name }, spec })
  for (const name of ['torn', 'whole']) await before.until(name, 'DEPLOYED')
  const [torn] = (await before.host.store.resources.everyOf('sandbox')).filter(({ name }) => name === 'torn')
  const { world } = before
  const machines = [...world.machines.keys()].toSorted()
  await before.close()
  const db = new BetterSqlite(join(dataDir, 'hutch.db'))
  damage(db, torn?.uid ?? '')
  db.close()
  const said: { event: string; fields: unknown }[] = []
  const log = { ...silentLog, error: (event: string, fields: unknown) => void said.push({ event, fields }) }
  const after = await openTestHost(t, dataDir, { world, log: { ...silentLog, ...log } })
  return { after, world, machines, said, uid: torn?.uid ?? '' }
}

const findings = ({ host }: TestHost) => recordFindings(host.store)

for (const [what, body] of [
  ['no JSON', '{"metadata":{'],
  ['no object', 'null'],
  ['without a spec', '{"metadata":{},"internal":{}}'],
] as const)
  t.test(`a record that is ${what} keeps no other from starting`, async t => {
    const { after, world, machines, said, uid } = await reopened(t, (db, uid) =>
      db.prepare('UPDATE resources SET body = ? WHERE uid = ?').run(body, uid),
    )
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
  })

for (const column of ['body', 'errors', 'address', 'image'])
  t.test(`an instance whose ${column} cannot be read is left alone`, async t => {
    const { after, world, machines, said } = await reopened(t, (db, uid) =>
      db.prepare(`UPDATE instances SET ${column} = '{' WHERE owner = ?`).run(uid),
    )
    t.equal((await after.api('GET', '/sandboxes/whole')).body.status, 'DEPLOYED')
    t.same([...world.machines.keys()].toSorted(), machines, 'its machine is no orphan')
    t.match(
      said.map(({ event }) => event),
      ['instance.unreadable'],
    )
    t.match(await findings(after), [{ ok: false, what: `${column} of ` }])
  })

t.test("a workspace that cannot be read is named, and the operator's key is made anew", async t => {
  const { after } = await reopened(t, db => {
    db.exec("UPDATE workspaces SET labels = 'x'")
    db.exec("UPDATE api_keys SET scopes = '['")
  })
  t.equal((await after.api('GET', '/sandboxes/whole')).status, 503)
  t.match(await findings(after), [{ ok: false, what: /table workspaces/ }])
  t.equal((await findings(after)).length, 1)
})
