import type { Test } from 'tap'
import type { ApiKey } from '../../../control/core/store/store.ts'
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
  person: null,
  defaultWorkspace: null,
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

  await t.test(
    'keys of persons are listed by account; their uses are written down for those that are there',
    async t => {
      const store = await open(t)
      await addTenants(store)
      const { tenants } = store
      const person = { sub: 'me', label: 'laptop', expiresIn: '30d' }
      const mine = key({ person, defaultWorkspace: 'main', expiresAt: 9 })
      await tenants.addApiKey(mine)
      await tenants.addApiKey(key({ id: 'k2', hash: 'h2' }))
      await tenants.addApiKey(key({ id: 'k3', hash: 'h3', person, createdAt: 0 }))
      await tenants.addApiKey(key({ id: 'k4', hash: 'h4', person, account: 'rival' }))
      t.same(
        (await tenants.personalKeys('acme')).map(({ id }) => id),
        ['k3', 'k1'],
      )
      t.same((await tenants.personalKeys('acme'))[1], mine)
      t.equal(await tenants.keyUse('k1'), undefined)
      await tenants.noteKeyUses([
        { id: 'k1', at: 5 },
        { id: 'gone', at: 6 },
      ])
      t.equal(await tenants.keyUse('k1'), 5)
      t.equal(await tenants.keyUse('gone'), undefined)
      t.same(await tenants.apiKeyByHash('h1'), mine)
    },
  )

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
