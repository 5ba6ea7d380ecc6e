import { existsSync, mkdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createUploads } from '../../../daemon/multipart/uploads.ts'
import { systemClock } from '../../../shared/clock.ts'
import { randomIds } from '../../../shared/ids.ts'
import { silentLog } from '../../../shared/log.ts'

const at = (now: number) => ({ clock: { ...systemClock(), now: () => now }, ids: randomIds(), log: silentLog })
const start = 1_800_000_000_000
const day = 86_400_000

t.test('what nothing happened to for longer than the expiry is deleted, the rest is not', async t => {
  const dir = join(t.testdir({}), 'store')
  let now = start
  const deps = { ...at(start), clock: { ...systemClock(), now: () => now } }
  const uploads = createUploads({ dir, expiryMs: day }, deps)
  const [old, used, busy] = [
    await uploads.initiate('/a', 0o644),
    await uploads.initiate('/b', 0o644),
    await uploads.initiate('/c', 0o644),
  ]
  now = start + day + 1
  used.touchedAt = now
  busy.inFlight.add(1)
  await uploads.sweep()
  t.notOk(existsSync(old.dir))
  t.ok(existsSync(used.dir))
  t.ok(existsSync(busy.dir), 'a part is coming in')
  t.equal(await uploads.find(old.header.uploadId), undefined)
  t.equal((await uploads.all()).length, 2)
})

t.test('leftovers of an earlier daemon expire by their time on disk, unreadable ones too', async t => {
  const dir = join(t.testdir({}), 'store')
  const before = createUploads({ dir, expiryMs: day }, at(start))
  const left = await before.initiate('/a', 0o644)
  const broken = join(dir, '12345678-1234-4234-8234-123456789012')
  mkdirSync(broken)
  mkdirSync(join(dir, 'not-ours'))
  for (const path of [left.dir, broken, join(dir, 'not-ours')]) utimesSync(path, start / 1000, start / 1000)
  const later = createUploads({ dir, expiryMs: day }, at(start + day / 2))
  await later.sweep()
  t.ok(existsSync(left.dir) && existsSync(broken), 'not yet')
  const last = createUploads({ dir, expiryMs: day }, at(start + 2 * day))
  await last.sweep()
  t.notOk(existsSync(left.dir))
  t.notOk(existsSync(broken))
  t.ok(existsSync(join(dir, 'not-ours')))
})

t.test('without an expiry everything stays', async t => {
  const dir = join(t.testdir({}), 'store')
  const left = await createUploads({ dir, expiryMs: undefined }, at(start)).initiate('/a', 0o644)
  utimesSync(left.dir, 1, 1)
  await createUploads({ dir, expiryMs: undefined }, at(start + 999 * day)).sweep()
  t.ok(existsSync(left.dir))
})
