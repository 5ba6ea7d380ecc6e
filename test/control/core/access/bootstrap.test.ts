import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hashKey } from '../../../../control/core/access/keys.ts'
import { bootstrap } from '../../../../control/core/access/bootstrap.ts'
import { openStore } from '../../../../control/core/store/sqlite/open.ts'
import type { Store, Tenants } from '../../../../control/core/store/store.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { silentLog } from '../../../../shared/log.ts'
import { fakeClock } from '../../../support/clock.ts'

const open = async (t: { testdir(): string; teardown(run: () => unknown): void }) => {
  const dataDir = join(t.testdir(), 'data')
  mkdirSync(dataDir)
  const store = await openStore({ path: join(dataDir, 'hutch.db') }, { log: silentLog })
  t.teardown(() => store.close())
  const start = (tenants: Tenants = store.tenants) =>
    bootstrap({ dataDir }, { store: { tenants }, clock: fakeClock(), ids: randomIds() })
  return { dataDir, store, start, file: join(dataDir, 'admin-key') }
}

const works = async (store: Store, key: string) => {
  const found = await store.tenants.apiKeyByHash(hashKey(key))
  return found?.role === 'admin' && found.accountAdmin && (await store.tenants.workspace('default')) !== undefined
}

t.test('the first start makes an account, a workspace and a key that only its owner can read', async t => {
  const { store, start, file } = await open(t)
  const { adminKey } = await start()
  t.match(adminKey, /^hutch_[\w-]{43}$/)
  t.equal(readFileSync(file, 'utf8').trim(), adminKey)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.ok(await works(store, adminKey))
  t.match(await store.tenants.workspaces('default'), [{ name: 'default' }])
})

t.test('further starts change nothing', async t => {
  const { store, start } = await open(t)
  const { adminKey } = await start()
  const before = await store.tenants.workspaces('default')
  t.equal((await start()).adminKey, adminKey)
  t.same(await store.tenants.workspaces('default'), before)
})

t.test('a start that died at any step is finished by the next, with the key that is on disk', async t => {
  const steps = ['account', 'addAccount', 'workspaces', 'addWorkspace', 'apiKeyByHash', 'removeApiKey', 'addApiKey']
  for (const step of steps)
    for (const after of [false, true])
      await t.test(`${after ? 'after' : 'before'} ${step}`, async t => {
        const { dataDir, store, start, file } = await open(t)
        const dying = new Proxy(store.tenants, {
          get: (tenants, name) => {
            const method = Reflect.get(tenants, name) as (...args: unknown[]) => Promise<unknown>
            if (name !== step) return method
            return async (...args: unknown[]) => {
              if (after) await method(...args)
              throw new Error('died')
            }
          },
        })
        await t.rejects(start(dying), { message: 'died' })
        const { adminKey } = await start()
        t.equal(readFileSync(file, 'utf8').trim(), adminKey)
        t.ok(await works(store, adminKey))
        t.same(
          readdirSync(dataDir).filter(name => name.endsWith('.new')),
          [],
        )
      })
})

t.test('removing the file gives a new key and revokes the old', async t => {
  const { store, start, file } = await open(t)
  const { adminKey: old } = await start()
  rmSync(file)
  const { adminKey } = await start()
  t.not(adminKey, old)
  t.ok(await works(store, adminKey))
  t.notOk(await works(store, old))
})
