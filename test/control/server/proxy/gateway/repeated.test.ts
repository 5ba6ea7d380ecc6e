/** Requests of one connection that repeat their head: what was found out of the first holds for the next only while it is true. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import t from 'tap'
import { hashKey } from '../../../../../control/core/access/keys.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { echo, oneConnection, web } from '../../../../support/one-connection.ts'
import { until } from '../../../../support/until.ts'

t.test('each is sent on as it is: method, path, place, and an id of its own; never with the key', async t => {
  const { ask, key, make, sockets } = await oneConnection(t)
  await make('other')
  const beside = await echo(t, 'beside')
  const { secret } = await key()
  const ids = new Set<string>()
  let more = {}
  const asked = async (path: string, method?: string) => {
    const { status, body } = await ask(path, secret, method, more)
    t.equal(body.headers['x-other'], 'x-other' in more ? '1' : undefined)
    t.equal(status, 200, path)
    t.notOk(JSON.stringify(body).includes(secret), 'the key stays here')
    t.equal(body.headers['x-svc-subject-id'], hashKey(secret).slice(0, 8))
    ids.add(body.headers['x-request-id'])
    return `${body.name} ${body.method} ${body.url}`
  }
  for (const time of ['first', 'again', 'with other fields']) {
    if (time === 'with other fields') more = { 'x-other': '1' }
    t.equal(await asked(`${web}/a?x=1`), 'machine 1 GET /a?x=1', time)
    t.equal(await asked(`${web}/b?token=${secret}&x=1`), 'machine 1 GET /b?x=1')
    t.equal(await asked(`${web}/c`, 'DELETE'), 'machine 1 DELETE /c')
    t.equal(await asked('/default/sandboxes/other/a'), 'machine 2 GET /a')
    t.equal(await asked(`${web}/port/${beside}/a`), 'beside GET /a')
  }
  t.equal(ids.size, 15)
  t.equal(sockets.size, 1, 'all of it on one connection')
})

/** Nothing more, or something else each time. */
let asked = 0
const further = { 'the same': () => ({}), 'other fields each time': () => ({ 'x-asked': String(++asked) }) }

for (const [name, more] of Object.entries(further))
  t.test(`who has no right any more has none at the next request, whoever wrote that: ${name}`, async t => {
    let later = 0
    const real = systemClock()
    const begun = real.now()
    const { ask, key, host, dataDir, sockets } = await oneConnection(t, {
      clock: { ...real, now: () => real.now() + later },
    })
    const [here, elsewhere, old] = [await key(), await key(), await key(real.now() + 60_000)]
    const status = async ({ secret }: { secret: string }) => (await ask(`${web}/`, secret, 'GET', more())).status
    for (const one of [here, here, elsewhere, elsewhere, old, old]) t.equal(await status(one), 200)
    t.equal(await status({ secret: 'hutch_wrong' }), 401, 'what others may does not count')

    for (const _ of [1, 2]) t.equal(await status(here), 200)
    await host.store.tenants.removeApiKey(here.id)
    t.equal(await status(here), 401)

    for (const _ of [1, 2]) t.equal(await status(elsewhere), 200)
    const db = new Database(join(dataDir, 'hutch.db'))
    db.prepare('DELETE FROM api_keys WHERE id = ?').run(elsewhere.id)
    db.close()
    t.equal(await status(elsewhere), 401, 'as the command does it')

    for (const _ of [1, 2]) t.equal(await status(old), 200)
    later = 30_000
    t.equal(await status(old), 200)
    later = 120_000
    t.equal(await status(old), 401, 'its time is over, and nobody wrote anything')
    t.equal(sockets.size, 1)

    await host.close()
    const kept = new Database(join(dataDir, 'hutch.db'), { readonly: true })
    const at = kept.prepare('SELECT last_used_at FROM api_keys WHERE id = ?').pluck().get(old.id) as number
    kept.close()
    t.ok(at >= begun + 30_000, 'each of them was a use of the key')
  })

t.test(
  'a workload that is gone is gone at the next request, and another one of its name answers in its place',
  async t => {
    const { ask, key, api, make, sockets, until: gone } = await oneConnection(t)
    const { secret } = await key()
    const who = async () => {
      const { status, body } = await ask(`${web}/`, secret)
      return status === 200 ? body.name : status
    }
    t.same([await who(), await who()], ['machine 1', 'machine 1'])
    t.equal((await api('DELETE', '/sandboxes/web')).status, 200)
    await gone('web', 'TERMINATED')
    t.equal(await who(), 404)
    await make('web')
    t.same([await who(), await who()], ['machine 2', 'machine 2'])
    t.equal(sockets.size, 1)
  },
)

t.test('a stream that such a request has opened ends with its key', async t => {
  const { ask, key, endless, host } = await oneConnection(t)
  const { secret, id } = await key()
  t.equal((await ask(`${web}/`, secret)).status, 200)
  const { ended } = await endless(secret)
  await host.store.tenants.removeApiKey(id)
  t.match(await ended, [{ code: 'ECONNRESET' }])
})

t.test('one that has gone to sleep meanwhile wakes', async t => {
  const { ask, key, api, world } = await oneConnection(t, { config: { standbyAfterMs: 50 } })
  const { secret } = await key()
  const use = async () => t.equal((await ask(`${web}/`, secret)).status, 200)
  const sleeps = () => until(async () => (await api('GET', '/sandboxes/web')).body.state === 'STANDBY', 'it sleeps')
  const wakes = () => world.journal.filter(line => line.startsWith('thaw')).length
  for (const _ of [1, 2]) {
    await use()
    await use()
    await sleeps()
    const before = wakes()
    await use()
    t.equal(wakes() - before, 1)
  }
})
