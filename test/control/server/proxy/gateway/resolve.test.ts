import { join } from 'node:path'
import t from 'tap'
import { resolver } from '../../../../../control/server/proxy/gateway/resolve.ts'
import { openStore } from '../../../../../control/core/store/sqlite/open.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { addTenants, become, instanceOf, put, putInstance, record } from '../../../../support/records.ts'
import { crew } from '../../../../support/runner.ts'

const to = (...readings: { name: string; workspace: string }[]) => ({
  kind: 'crew',
  form: 'path' as const,
  readings,
  port: undefined,
  target: '/',
  base: '',
})

t.test(
  'a machine that is up is found by its owner’s name alone; else the record says whether there will be one',
  async t => {
    const store = await openStore({ path: join(t.testdir(), 'hutch.db') }, { log: silentLog })
    t.teardown(() => store.close())
    await addTenants(store)
    let reads = 0
    const counted: typeof store.resources.get = key => {
      reads++
      return store.resources.get(key)
    }
    const rules = new Map([[crew.kind, crew]])
    const find = resolver({ store: { ...store, resources: { ...store.resources, get: counted } }, rules })
    const web = { name: 'web', workspace: 'main' }
    await t.rejects(find(to({ name: 'web', workspace: 'none' })), { code: 'workspace_not_found' })
    await t.rejects(find(to(web)), { code: 'workload_not_found', message: 'no such crew: looked for "web" in "main"' })
    const owner = await put(store, record({ kind: 'crew', name: 'web' }))
    t.match(await find(to(web)), { owner: { uid: owner.uid, kind: 'crew', name: 'web' }, workspace: { name: 'main' } })
    t.equal(reads, 2)
    const instance = await putInstance(store, instanceOf(owner, { id: 'i', status: 'standby' }))
    t.match(await find(to({ name: 'w', workspace: 'eb' }, web)), { instance, owner: instance.owner })
    t.equal(reads, 2, 'the record was not even read')
    await store.apply([{ type: 'updateInstance', id: 'i', version: 1, change: { status: 'stopping' } }], 1)
    t.equal(Object.hasOwn(await find(to(web)), 'instance'), false)
    await become(store, owner.uid, { status: 'TERMINATED' })
    await t.rejects(find(to(web)), { code: 'workload_not_found' })
  },
)
