/** A machine whose row cannot be read keeps no backup from being made, and none from being restored. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t from 'tap'
import { backUp, type BackupDeps } from '../../../../control/ops/backup/backup.ts'
import { restore } from '../../../../control/ops/backup/restore.ts'
import { adaptCopy } from '../../../../control/core/store/sqlite/adapt.ts'
import { openStore } from '../../../../control/core/store/sqlite/open.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'
import { instanceOf, put, record } from '../../../support/records.ts'

for (const column of ['body', 'errors', 'address', 'image'])
  t.test(`its ${column}`, async t => {
    const dir = t.testdir({ data: { 'secret-key': '', machines: { whole: { disk: 'a' }, torn: { disk: 'b' } } } })
    const dataDir = join(dir, 'data')
    const path = join(dataDir, 'hutch.db')
    const store = await openStore({ path }, { log: silentLog })
    t.teardown(() => store.close())
    const image = { digest: 'd', rootfs: join(dataDir, 'images/d/rootfs'), env: {} } as never
    await store.tenants.addAccount({ id: 'a', displayName: 'a', createdAt: 1 })
    await store.tenants.addWorkspace({ id: 'w', name: 'main', account: 'a', displayName: '', createdAt: 1 })
    for (const name of ['whole', 'torn']) {
      const owner = await put(store, record({ name }))
      const instance = instanceOf(owner, { id: name, startedAt: 1, image })
      await store.apply([{ type: 'addInstance', instance }], 1)
    }
    const db = new BetterSqlite(path)
    db.prepare(`UPDATE instances SET ${column} = '{' WHERE id = 'torn'`).run()
    db.close()
    const deps = {
      dataDir,
      imagesDir: join(dir, 'images'),
      store,
      drivers: { need: () => ({ keeper: { filesOf: async (id: string) => [`machines/${id}/disk`] } }) },
      still: (_id: string, step: () => Promise<void>) => step(),
      clock: systemClock(),
    } as unknown as BackupDeps
    const to = join(dir, 'backup.tar')
    const done = await backUp(deps, { to, say: () => {}, signal: new AbortController().signal })
    t.match(done, { machines: 1, unreadable: ['torn'] }, 'it says whose files it has not')
    const again = join(dir, 'again')
    await restore({ adapt: adaptCopy }, { from: to, dataDir: again, imagesDir: join(dir, 'images') })
    t.ok(existsSync(join(again, 'machines/whole/disk')))
    t.notOk(existsSync(join(again, 'machines/torn')))
    const restored = await openStore({ path: join(again, 'hutch.db') }, { log: silentLog })
    t.teardown(() => restored.close())
    const unreadable: string[] = []
    const [whole] = await restored.instances.every(id => void unreadable.push(id))
    t.equal(whole?.image?.rootfs, join(again, 'images/d/rootfs'), 'the others lead to where they are now')
    t.same(unreadable, ['torn'], 'its row is as it was')
  })
