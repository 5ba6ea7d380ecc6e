/**
 * Writes to the store at argv[2] until it is killed: makes resources with a machine each and changes both, each change with
 * an event and a new rate. Says `uid version` on stdout after each write that resolved.
 */
import { writeSync } from 'node:fs'
import { openStore } from '../../control/core/store/sqlite/open.ts'
import type { Write } from '../../control/core/store/store.ts'
import { silentLog } from '../../shared/log.ts'
import { instanceOf, record } from '../support/records.ts'

const [, , path = '', round = ''] = process.argv
const store = await openStore({ path }, { log: silentLog })

/** A record of that version and its machine, written together. */
const writesOf = (uid: string, version: number, now: number): Write[] => {
  const event = { time: now, type: 'state', status: 'DEPLOYED', message: String(version) }
  const metered = { rates: [{ dimension: 'sandbox_compute_runtime_gbs', quantity: version }] }
  const spec = { version }
  if (version > 1)
    return [
      { type: 'update', uid, version: version - 1, change: { spec }, event },
      { type: 'updateInstance', id: uid, version: version - 1, change: {}, metered },
    ]
  const resource = record({ name: uid, uid, createdAt: now, spec })
  return [
    { type: 'create', resource, event },
    { type: 'addInstance', instance: instanceOf(resource), metered },
  ]
}

for (let step = 0; ; step++) {
  const uid = `uid-${round}-${step % 5}`
  const version = Math.floor(step / 5) + 1
  const now = 1_000_000 + step * 60_000
  await store.apply(writesOf(uid, version, now), now)
  writeSync(1, `${uid} ${version}\n`)
  if (step % 17 === 0) await store.meter.checkpoint(now)
}
