import type { Test } from 'tap'
import type { Write } from '../../../control/core/store/store.ts'
import { addTenants, change, instanceOf, put, putInstance, record } from '../../support/records.ts'
import type { Open } from '../store.ts'

const event = { time: 1, type: 't', status: 's', message: 'm' }
const create = (name: string, given: object = {}): Write => ({
  type: 'create',
  resource: record({ name, ...given }),
  event,
})
const rates = [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 1 }]

export const transactionsSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('a list of writes happens in order, and says what came of it', async t => {
    const store = await open(t)
    await put(store, record({ name: 'old', uid: 'first' }))
    const next = record({ name: 'old', uid: 'second' })
    const instance = instanceOf(next, { id: 'i' })
    const written = await store.apply(
      [
        { type: 'remove', uid: 'first', version: 1 },
        { type: 'create', resource: next, event },
        { type: 'update', uid: 'second', version: 1, change: { status: 'FAILED' } },
        { type: 'addInstance', instance },
        { type: 'updateInstance', id: 'i', version: 1, change: { status: 'stopping' } },
      ],
      5,
    )
    t.match(written, {
      resources: [
        { uid: 'second', version: 1 },
        { uid: 'second', version: 2, status: 'FAILED', updatedAt: 5 },
      ],
      instances: [
        { id: 'i', version: 1 },
        { id: 'i', version: 2, status: 'stopping' },
      ],
      removed: [{ uid: 'first', kind: 'sandbox', workspace: 'main', parent: '', name: 'old' }],
    })
    t.match(await store.resources.getByUid('second'), { status: 'FAILED' })
    t.equal(await store.resources.count('sandbox', 'main'), 1)
  })

  const impossible: readonly [string, Write, string][] = [
    ['a stale update', { type: 'update', uid: 'uid-there', version: 9, change: {} }, 'changed_meanwhile'],
    ['a stale removal', { type: 'remove', uid: 'uid-there', version: 9 }, 'changed_meanwhile'],
    ['a stale expectation', { type: 'expect', uid: 'uid-there', version: 9 }, 'changed_meanwhile'],
    ['an expectation of what is gone', { type: 'expect', uid: 'uid-none', version: 1 }, 'changed_meanwhile'],
    ['a stale instance', { type: 'updateInstance', id: 'i', version: 9, change: {} }, 'changed_meanwhile'],
    ['a name that is taken', create('there', { uid: 'other' }), 'already_exists'],
  ]
  for (const [what, write, code] of impossible)
    await t.test(`${what} undoes all that was written beside it`, async t => {
      const store = await open(t)
      await addTenants(store)
      const there = await put(store, record({ name: 'there' }))
      const instance = await putInstance(store, instanceOf(there, { id: 'i' }), rates)
      const before: Write[] = [
        create('new'),
        { type: 'addInstance', instance: instanceOf(there, { id: 'j' }), metered: { rates } },
        { type: 'updateInstance', id: 'i', version: 1, change: { status: 'stopping' }, metered: { rates: [] } },
        { type: 'update', uid: 'uid-there', version: 1, change: { status: 'DELETING' }, event },
      ]
      // Whatever comes first, nothing is left of it; what expects the version of before comes before the change.
      const versioned = write.type === 'expect' || write.type === 'update' || write.type === 'remove'
      await t.rejects(store.apply(versioned ? [...before.slice(0, 3), write] : [...before, write], 1_000), { code })
      t.same(await store.resources.getByUid('uid-there'), there)
      t.equal(await store.resources.getByUid('uid-new'), undefined)
      t.same(await store.resources.events('uid-new'), [])
      t.same(await store.resources.events('uid-there'), [])
      t.same(await store.instances.every(), [instance])
      t.match(await store.meter.intervals('i'), [{ to: null }])
      t.same(await store.meter.intervals('j'), [])
    })

  await t.test('what is expected is not changed by it', async t => {
    const store = await open(t)
    const there = await put(store, record({ name: 'there' }))
    await store.apply([{ type: 'expect', uid: 'uid-there', version: 1 }, create('new')], 9)
    t.same(await store.resources.getByUid('uid-there'), there)
  })

  await t.test(
    'of many who replace the same record one wins, and nothing is lost of what the others found',
    async t => {
      const store = await open(t)
      await put(store, record({ name: 'box', uid: 'old' }))
      const tries = Array.from({ length: 10 }, (_, index) =>
        store.apply([{ type: 'remove', uid: 'old', version: 1 }, create('box', { uid: `new-${index}` })], 2),
      )
      const results = await Promise.allSettled(tries)
      t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      t.equal(await store.resources.count('sandbox', 'main'), 1)
    },
  )

  await t.test('a record lives inside another only while that one is there and in a status to be lived in', async t => {
    const store = await open(t)
    const within = { kind: 'sandbox', workspace: 'main', parent: '', name: 'web', exceptStatuses: ['TERMINATED'] }
    const add = (name: string) =>
      store.apply([{ type: 'create', resource: record({ name, kind: 'preview', parent: 'web' }), within }], 1)
    await t.rejects(add('p'), { code: 'not_found', message: 'sandbox "web" not found' })
    await put(store, record({ name: 'web' }))
    await add('p')
    await change(store, ['uid-web', 1], { status: 'TERMINATED' }, 2)
    await t.rejects(add('q'), { code: 'not_found' })
    t.equal(await store.resources.count('preview', 'main', 'web'), 1)
  })

  await t.test('what lives inside goes at any depth, of the kinds that are named and of nobody else', async t => {
    const store = await open(t)
    const add = (kind: string, parent: string, name: string, workspace = 'main') =>
      put(store, record({ kind, parent, name, workspace, uid: `${workspace}:${kind}:${parent}/${name}` }))
    await add('preview', 'web', 'p')
    await add('token', 'web/p', 't')
    await add('token', 'web/p', 'u')
    await add('preview', 'web-2', 'p')
    await add('token', 'web-2/p', 't')
    await add('token', 'we/web', 't')
    await add('gateway', 'web', 'g')
    await add('preview', 'web', 'p', 'other')
    const { removed } = await store.apply(
      [{ type: 'removeInside', workspace: 'main', path: 'web', kinds: ['preview', 'token'] }],
      2,
    )
    t.same(removed.map(({ uid }) => uid).toSorted(), ['main:preview:web/p', 'main:token:web/p/t', 'main:token:web/p/u'])
    const left = [...(await store.resources.everyOf('preview')), ...(await store.resources.everyOf('token'))]
    t.same(left.map(({ uid }) => uid).toSorted(), [
      'main:preview:web-2/p',
      'main:token:we/web/t',
      'main:token:web-2/p/t',
      'other:preview:web/p',
    ])
    t.equal(await store.resources.count('gateway', 'main', 'web'), 1)
    t.equal(await store.resources.count('token', 'main', 'web/p'), 0)
    const none = await store.apply([{ type: 'removeInside', workspace: 'main', path: 'web', kinds: ['token'] }], 3)
    t.same(none.removed, [])
  })

  t.test('what must be empty stops the list when something lives inside it, at any depth', async t => {
    const store = await open(t)
    await put(store, record({ kind: 'token', parent: 'web/p', name: 't' }))
    const empty = (path: string, kinds: string[], workspace = 'main') =>
      store.apply([{ type: 'nothingInside', workspace, path, kinds, kind: 'sandbox', name: path }], 2)
    const message = 'sandbox "web" is in use by token "t"'
    await t.rejects(empty('web', ['preview', 'token']), { code: 'in_use', message })
    await t.resolves(empty('web', ['preview']))
    await t.resolves(empty('we', ['token']))
    await t.resolves(empty('web', ['token'], 'other'))
  })
}
