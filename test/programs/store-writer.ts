/**
 * Writes to the store at argv[2] until it is killed: makes resources and changes their state, each change with an
 * event and a new rate. Says `uid version` on stdout after each write that resolved.
 */
import { writeSync } from 'node:fs'
import { openStore } from '../../control/store/sqlite/open.ts'
import { silentLog } from '../../shared/log.ts'
import { record } from '../support/records.ts'

const [, , path = '', round = ''] = process.argv
const store = await openStore({ path }, { log: silentLog })

const partsOf = (version: number, now: number) => ({
  event: { time: now, type: 'state', status: 'DEPLOYED', message: String(version) },
  rates: [{ dimension: 'sandbox_compute_runtime_gbs', quantity: version }],
})

for (let step = 0; ; step++) {
  const uid = `uid-${round}-${step % 5}`
  const version = Math.floor(step / 5) + 1
  const now = 1_000_000 + step * 60_000
  if (version === 1)
    await store.resources.create(record({ name: uid, uid, createdAt: now, spec: { version } }), partsOf(1, now))
  else await store.resources.update(uid, version - 1, { ...partsOf(version, now), spec: { version } }, now)
  writeSync(1, `${uid} ${version}\n`)
  if (step % 17 === 0) await store.meter.checkpoint(now)
}
