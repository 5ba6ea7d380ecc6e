import type { Test } from 'tap'
import type { ApiKey } from '../../../control/store/store.ts'
import { addTenants } from '../../support/records.ts'
import type { Open } from '../store.ts'

const key = (given: Partial<ApiKey>): ApiKey => ({
  id: 'k1',
  hash: 'h1',
  name: 'key',
  account: 'acme',
  workspace: null,
  role: 'member',
  accountAdmin: false,
  createdAt: 1,
  expiresAt: null,
  scopes: null,
  owner: null,
  ...given,
})

export const tenantsSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('workspaces are found by name or id, a name first', async t => {
    const store = await open(t)
    await addTenants(store)
    const { tenants } = store
    t.same(
      (await tenants.accounts()).map(({ id }) => id),
      ['acme', 'rival'],
    )
    t.match(await tenants.account('acme'), { id: 'acme', displayName: 'acme', createdAt: 1 })
    t.equal(await tenants.account('nobody'), undefined)
    t.same(
      (await tenants.workspaces('acme')).map(({ name }) => name),
      ['main', 'other'],
    )
    t.match(await tenants.workspace('main'), { id: 'id-main', name: 'main', account: 'acme' })
    t.match(await tenants.workspace('id-main'), { name: 'main' })
    t.equal(await tenants.workspace('nowhere'), undefined)
    await tenants.addWorkspace({ id: 'x', name: 'id-main', account: 'acme', displayName: '', createdAt: 1 })
    t.match(await tenants.workspace('id-main'), { id: 'x' })
  })

  await t.test('keys come back as they were given, by hash', async t => {
    const store = await open(t)
    await addTenants(store)
    const { tenants } = store
    const one = key({})
    const two = key({ id: 'k2', hash: 'h2', workspace: 'main', role: 'admin', accountAdmin: true, expiresAt: 5 })
    await tenants.addApiKey(one)
    await tenants.addApiKey(two)
    t.same(await tenants.apiKeyByHash('h1'), one)
    t.same(await tenants.apiKeyByHash('h2'), two)
    await tenants.removeApiKey('k1')
    await tenants.removeApiKey('k1')
    t.equal(await tenants.apiKeyByHash('h1'), undefined)
    t.same(await tenants.apiKeyByHash('h2'), two)
  })

  await t.test('what is taken or belongs to nobody is refused and changes nothing', async t => {
    const store = await open(t)
    await addTenants(store)
    const { tenants } = store
    const workspace = { id: 'new', name: 'main', account: 'rival', displayName: '', createdAt: 9 }
    await t.rejects(tenants.addAccount({ id: 'acme', displayName: '', createdAt: 9 }), { code: 'already_exists' })
    await t.rejects(tenants.addWorkspace(workspace), { code: 'already_exists' })
    await t.rejects(tenants.addWorkspace({ ...workspace, name: 'w', account: 'nobody' }), { code: 'not_found' })
    await tenants.addApiKey(key({}))
    await t.rejects(tenants.addApiKey(key({ id: 'other' })), { code: 'already_exists' })
    await t.rejects(tenants.addApiKey(key({ hash: 'h', id: 'k', account: 'nobody' })), { code: 'not_found' })
    t.match(await tenants.workspace('main'), { account: 'acme' })
    t.equal(await tenants.workspace('w'), undefined)
    t.equal((await tenants.accounts()).length, 2)
  })
}
