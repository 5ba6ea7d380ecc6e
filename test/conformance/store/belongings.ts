/** What belongs to a resource and goes with it: claims, which one resource has at a time, and the key it was made with. */
import type { Test } from 'tap'
import type { ApiKey, Resource, Write } from '../../../control/core/store/store.ts'
import { addTenants, instanceOf, put, putInstance, record } from '../../support/records.ts'
import type { Open } from '../store.ts'

const creating = (resource: Resource, more: Partial<Extract<Write, { type: 'create' }>>): Write => ({
  type: 'create',
  resource,
  ...more,
})

const keyOf = (owner: string): ApiKey => ({
  id: `key-${owner}`,
  hash: `hash-${owner}`,
  name: 'key',
  account: 'acme',
  workspace: 'main',
  role: 'member',
  accountAdmin: false,
  createdAt: 1,
  expiresAt: null,
  scopes: ['sandboxes:list'],
  owner,
  person: null,
  defaultWorkspace: null,
})

const a = record({ name: 'a' })
const b = record({ name: 'b' })

export const belongingsSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('a claim is one resource’s of a kind and workspace, until it is given up or that one goes', async t => {
    const store = await open(t)
    await addTenants(store)
    const taken = { code: 'already_exists' }
    await store.apply([creating(a, { claims: ['x', 'x'] })], 1)
    t.equal((await store.resources.claimant('sandbox', 'main', 'x'))?.uid, a.uid)
    t.equal(await store.resources.claimant('sandbox', 'other', 'x'), undefined)
    await t.rejects(store.apply([creating(b, { claims: ['y', 'x'] })], 1), taken)
    t.equal(await store.resources.getByUid(b.uid), undefined, 'and nothing is written')
    t.equal(await store.resources.claimant('sandbox', 'main', 'y'), undefined)
    await store.apply([creating({ ...b, uid: 'w', workspace: 'other' }, { claims: ['x'] })], 1)
    await store.apply([creating({ ...b, uid: 'k', kind: 'job' }, { claims: ['x'] })], 1)
    await store.apply([creating(b, {})], 1)
    const update = (uid: string, version: number, claims?: string[]): Write => ({
      type: 'update',
      uid,
      version,
      change: {},
      ...(claims ? { claims } : {}),
    })
    await t.rejects(store.apply([update(b.uid, 1, ['x'])], 2), taken)
    await store.apply([update(a.uid, 1)], 2)
    t.equal((await store.resources.claimant('sandbox', 'main', 'x'))?.uid, a.uid, 'kept where none are given')
    await store.apply([update(a.uid, 2, ['z']), update(b.uid, 1, ['x'])], 3)
    t.equal((await store.resources.claimant('sandbox', 'main', 'x'))?.uid, b.uid)
    await store.apply([{ type: 'remove', uid: b.uid, version: 2 }, creating({ ...b, uid: 'c' }, { claims: ['x'] })], 4)
    t.equal((await store.resources.claimant('sandbox', 'main', 'x'))?.uid, 'c')
  })

  await t.test('a key goes with its resource, however that goes', async t => {
    const store = await open(t)
    await addTenants(store)
    const inner = record({ name: 'inner', kind: 'preview', parent: 'a' })
    await store.apply([creating(a, { credential: keyOf(a.uid) }), creating(inner, { credential: keyOf(inner.uid) })], 1)
    t.same(await store.tenants.apiKeyByHash(`hash-${a.uid}`), keyOf(a.uid))
    t.same(await store.tenants.apiKeyByHash(`hash-${inner.uid}`), keyOf(inner.uid))
    await t.rejects(store.apply([creating(b, { credential: keyOf(a.uid) })], 1))
    t.equal(await store.resources.getByUid(b.uid), undefined, 'a key that is there already: neither')
    await store.apply([{ type: 'removeInside', workspace: 'main', path: 'a', kinds: ['preview'] }], 2)
    t.equal(await store.tenants.apiKeyByHash(`hash-${inner.uid}`), undefined)
    await store.apply([{ type: 'remove', uid: a.uid, version: 1 }], 2)
    t.equal(await store.tenants.apiKeyByHash(`hash-${a.uid}`), undefined)
  })

  await t.test('a workspace changes, and goes with its resources and keys; its bill and its name stay', async t => {
    const store = await open(t)
    await addTenants(store)
    const { tenants, meter } = store
    const changed = { labels: { a: 'b' }, updatedBy: 'me', updatedAt: 7 }
    t.match(await tenants.updateWorkspace('main', changed), { ...changed, displayName: 'main', id: 'id-main' })
    t.match(await tenants.workspace('id-main'), changed)
    await t.rejects(tenants.updateWorkspace('none', changed), { code: 'not_found' })
    await store.apply([creating(a, { credential: keyOf(a.uid), claims: ['x'] })], 1)
    const instance = instanceOf(a, { id: 'i' })
    await putInstance(store, instance, [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 1 }])
    const person = { sub: 'me', label: 'laptop', expiresIn: '' }
    await tenants.addApiKey({ ...keyOf('mine'), owner: null, workspace: null, person, defaultWorkspace: 'main' })
    const gone = (name: string) => store.apply([{ type: 'removeWorkspace', name }], 9_000)
    const { removed } = await gone('id-main')
    t.match(removed, [{ uid: a.uid, kind: a.kind, workspace: 'main', name: 'a' }])
    t.equal(await tenants.workspace('main'), undefined)
    t.equal(await tenants.apiKeyByHash(`hash-${a.uid}`), undefined)
    t.match(await tenants.apiKeyByHash('hash-mine'), { defaultWorkspace: null }, 'it means that one no more')
    t.equal(await store.resources.getByUid(a.uid), undefined)
    t.match(await store.instances.get('i'), { owner: { uid: a.uid } }, 'who has its machine finds out')
    t.match(await meter.intervals('i'), [{ workspace: 'main', to: 9_000 }])
    t.equal(await tenants.isTaken('main'), true)
    await t.rejects(put(store, a), { code: 'not_found' }, 'nothing can be made in it any more')
    await t.rejects(gone('main'), { code: 'not_found' })
    await t.rejects(gone('other'), { code: 'wrong_state' }, 'the last one of its account')
    t.ok(await tenants.workspace('other'))
    await t.rejects(tenants.addWorkspace({ id: 'n', name: 'main', account: 'acme', displayName: '', createdAt: 9 }), {
      code: 'already_exists',
    })
  })

  await t.test('a part of a listing begins at an offset', async t => {
    const store = await open(t)
    await addTenants(store)
    for (const name of ['a', 'b', 'c', 'd']) await put(store, record({ name }))
    const part = async (offset: number, limit: number) => {
      const { items, hasMore } = await store.resources.list({
        kind: 'sandbox',
        workspace: 'main',
        sort: 'name:asc',
        limit,
        offset,
      })
      return [items.map(({ name }) => name).join(''), hasMore]
    }
    t.same(await part(0, 2), ['ab', true])
    t.same(await part(1, 2), ['bc', true])
    t.same(await part(2, 2), ['cd', false])
    t.same(await part(9, 2), ['', false])
  })
}
