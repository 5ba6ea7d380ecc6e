/** What follows from an event: status, machines, meter, what lives inside, who is named; all of it or nothing. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changes } from '../../../../control/core/transitions/changes.ts'
import type { Rules } from '../../../../control/core/transitions/rules.ts'
import { stateTable } from '../../../../control/core/transitions/state-table.ts'
import { onNewest, transition, type Draft } from '../../../../control/core/transitions/transition.ts'
import { openStore } from '../../../../control/core/store/sqlite/open.ts'
import type { Resource } from '../../../../control/core/store/store.ts'
import { fail } from '../../../../shared/errors.ts'
import { silentLog } from '../../../../shared/log.ts'
import { fakeClock } from '../../../support/clock.ts'
import { crew } from '../../../support/runner.ts'

const disk: Rules = {
  kind: 'disk',
  life: stateTable('READY', {
    READY: { delete: 'DELETING' },
    DELETING: { delete: 'DELETING', gone: 'GONE' },
    GONE: { delete: 'GONE' },
  }),
  hiddenStatuses: ['GONE'],
  keptWhileReferenced: true,
  references: spec =>
    spec['copyOf'] ? [{ field: 'spec.copyOf', kind: 'disk', parent: '', name: String(spec['copyOf']) }] : [],
}

/** Lives inside a crew, and names disks. */
const mount: Rules = {
  kind: 'mount',
  parent: crew,
  hiddenStatuses: [],
  references: spec =>
    (spec['disks'] as string[]).map((name, at) => ({ field: `spec.disks.${at}`, kind: 'disk', parent: '', name })),
}

/** Lives inside a mount. */
const note: Rules = { kind: 'note', parent: mount, hiddenStatuses: [] }

const prepared = async (t: Test) => {
  const clock = fakeClock()
  const store = await openStore({ path: join(t.testdir(), 'hutch.db') }, { log: silentLog })
  t.teardown(() => store.close())
  const rules = new Map([crew, disk, mount, note].map(kind => [kind.kind, kind]))
  const told: string[] = []
  const waiting = changes()
  const tell = { ...waiting, changed: (uid: string) => void told.push(uid) }
  const { write } = transition({ store, clock, rules, changes: tell })
  const draft = (kind: string, name: string, given: Partial<Draft> = {}): Draft => ({
    uid: `${kind}-${name}`,
    kind,
    workspace: 'main',
    parent: '',
    name,
    metadata: { createdBy: 'a', updatedBy: 'a' },
    spec: {},
    ...given,
  })
  const create = async (kind: string, name: string, given?: Partial<Draft>) =>
    (await write([{ create: draft(kind, name, given), message: 'made' }])).resources[0] as Resource
  const now = async (uid: string) => (await store.resources.getByUid(uid)) as Resource
  /** A DEPLOYED crew with machines that run. */
  const running = async (name: string, ids: readonly string[]) => {
    const { workspace } = await create('crew', name, { spec: { count: ids.length } })
    const owner = { uid: `crew-${name}`, kind: 'crew', workspace, parent: '', name }
    await write(ids.map(id => ({ add: { id, owner, revision: '0', driver: 'fake' } })))
    for (const [at, id] of ids.entries()) {
      const instance = await store.instances.get(id)
      if (!instance) throw new Error(`no instance ${id}`)
      const change = { memoryMb: 1024, startedAt: clock.now() }
      const deployed = { record: await now(owner.uid), event: { name: 'deployed', message: 'up' } }
      await write([{ instance, event: 'started', change }, ...(at === 0 ? [deployed] : [])])
    }
    return now(owner.uid)
  }
  return { clock, store, told, write, draft, create, now, running }
}

t.test('an event leads where the table says and is written down; one it does not allow changes nothing', async t => {
  const { store, write, create, now, clock } = await prepared(t)
  const made = await create('crew', 'a')
  t.match(made, { status: 'DEPLOYING', version: 1, createdAt: clock.now() })
  const moved = await write([{ record: made, event: { name: 'deployed', message: 'up' }, change: { spec: { x: 1 } } }])
  t.match(moved.resources, [{ status: 'DEPLOYED', spec: { x: 1 }, version: 2 }])
  const again = { record: await now('crew-a'), event: { name: 'deployed', message: 'up' } }
  await t.rejects(write([again]), { code: 'wrong_state', message: 'crew "a" is DEPLOYED; deployed is not allowed' })
  await t.rejects(write([{ record: made, change: { spec: {} } }]), { code: 'changed_meanwhile' })
  t.match(await store.resources.events('crew-a'), [
    { status: 'DEPLOYING', message: 'made' },
    { status: 'DEPLOYED', message: 'up' },
  ])
  const plain = await write([{ record: await now('crew-a'), change: { spec: { x: 2 } } }])
  t.match(plain.resources, [{ status: 'DEPLOYED', spec: { x: 2 } }])
  t.equal((await store.resources.events('crew-a')).length, 2, 'a change without an event writes none down')
})

t.test('what is metered follows the state of each machine, in the transaction that changes it', async t => {
  const { store, write, running, clock } = await prepared(t)
  await running('a', ['i'])
  const rows = async () =>
    (await store.meter.intervals('i')).map(({ dimension, quantity, to }) => [dimension, quantity, to])
  t.same(await rows(), [['agent_compute_runtime_gbs', 1, null]])
  await clock.tick(1_000)
  const at = async () => (await store.instances.get('i')) ?? t.fail('no instance')
  await write([{ instance: (await at()) as never, event: 'suspended', change: { heldBytes: 2 ** 29 } }])
  await clock.tick(1_000)
  const [first, second] = await rows()
  t.match(first, ['agent_compute_runtime_gbs', 1, Number])
  t.same(second, ['agent_image_storage_gbs', 0.5, null])
  await write([{ instance: (await at()) as never, change: { attempts: 1 } }])
  t.equal((await rows()).length, 2, 'a change that is no event turns nothing')
  await write([{ instance: (await at()) as never, event: 'stop' }])
  t.equal((await rows()).at(-1)?.[2], clock.now())
  await t.rejects(write([{ instance: (await at()) as never, event: 'started' }]), {
    code: 'wrong_state',
    message: 'instance "i" is stopping; started is not allowed',
  })
})

t.test('machines that a record does not want any more are stopped with the change that says so', async t => {
  const { store, write, running, clock } = await prepared(t)
  const statuses = async (uid: string) => (await store.instances.ofOwner(uid)).map(({ status }) => status)
  const fewer = await running('a', ['a1', 'a2', 'a3'])
  await write([{ record: fewer, change: { spec: { count: 1 } } }])
  t.same(await statuses('crew-a'), ['running', 'stopping', 'stopping'])
  t.match(await store.meter.intervals('a2'), [{ to: clock.now() }])
  t.match(await store.meter.intervals('a1'), [{ to: null }])
  const other = await running('b', ['b1'])
  await write([{ record: other, change: { spec: { count: 1, revision: '1' } } }])
  t.same(await statuses('crew-b'), ['stopping'], 'of another revision')
  const ending = await running('c', ['c1', 'c2'])
  await write([{ record: ending, event: { name: 'delete', message: 'deleted' } }])
  t.same(await statuses('crew-c'), ['stopping', 'stopping'])
  const gone = await running('d', ['d1'])
  await write([{ remove: gone }])
  t.same(await statuses('crew-d'), ['stopping'])
  t.match(await store.meter.intervals('d1'), [{ to: clock.now() }])
})

t.test(
  'a name is given to another in one step: the old record, its machines, what lived in it, and the new one',
  async t => {
    const { store, write, draft, create, running } = await prepared(t)
    const old = await running('a', ['i'])
    await create('disk', 'd')
    await create('mount', 'm', { parent: 'a', spec: { disks: ['d'] } })
    const next = draft('crew', 'a', { uid: 'next' })
    const written = await write([{ remove: old }, { create: next, message: 'made' }])
    t.match(written.removed.map(({ uid }) => uid).toSorted(), ['crew-a', 'mount-m'])
    t.match(await store.resources.get({ kind: 'crew', workspace: 'main', parent: '', name: 'a' }), { uid: 'next' })
    t.match(await store.instances.get('i'), { status: 'stopping' })
    t.same(await store.resources.usageCounts({ kind: 'disk', workspace: 'main', parent: '', name: 'd' }), {})
    const stale = write([{ remove: old }, { create: { ...next, uid: 'third' }, message: 'made' }])
    await t.rejects(stale, { code: 'changed_meanwhile' })
  },
)

t.test('a record and what lives in it are made in one step, or none of them', async t => {
  const { store, write, draft, create } = await prepared(t)
  await create('disk', 'd')
  const within = (name: string, disks: string[]) => ({
    create: draft('mount', name, { parent: 'a', spec: { disks } }),
    message: 'made',
  })
  const outer = { create: draft('crew', 'a'), message: 'made' }
  await t.rejects(write([outer, within('m', ['d']), within('n', ['none'])]), { message: /spec.disks.0: disk "none"/ })
  t.equal(await store.resources.count('crew', 'main'), 0)
  const { resources } = await write([outer, within('m', ['d']), within('n', [])])
  t.same(
    resources.map(({ uid }) => uid),
    ['crew-a', 'mount-m', 'mount-n'],
  )
})

t.test('kinds live inside kinds, at any depth, and go with what they live in', async t => {
  const { store, write, create, now } = await prepared(t)
  const missing = { code: 'not_found', message: 'crew "a" not found' }
  await t.rejects(create('mount', 'm', { parent: 'a', spec: { disks: [] } }), missing)
  await create('crew', 'a')
  await create('mount', 'm', { parent: 'a', spec: { disks: [] } })
  await t.rejects(create('note', 'n', { parent: 'a/none' }), { code: 'not_found', message: 'mount "none" not found' })
  await create('note', 'n', { parent: 'a/m' })
  t.equal(await store.resources.count('note', 'main', 'a/m'), 1)
  await write([{ record: await now('crew-a'), event: { name: 'delete', message: 'deleted' } }])
  t.equal(await store.resources.count('mount', 'main'), 0)
  t.equal(await store.resources.count('note', 'main'), 0)
  await t.rejects(create('mount', 'm', { parent: 'a', spec: { disks: [] } }), missing, 'nothing comes into what goes')
})

t.test(
  'a record names others that are there, is refused the rest by field, and keeps what it names from going',
  async t => {
    const { store, write, create, now } = await prepared(t)
    const d = { kind: 'disk', workspace: 'main', parent: '', name: 'd' }
    await create('crew', 'a')
    await create('disk', 'd')
    const mountOf = (disks: string[]) => create('mount', 'm', { parent: 'a', spec: { disks } })
    await t.rejects(mountOf(['d', 'e']), { code: 'invalid_argument', message: 'spec.disks.1: disk "e" not found' })
    await mountOf(['d'])
    const leave = async () => write([{ record: await now('disk-d'), event: { name: 'delete', message: 'deleted' } }])
    await t.rejects(leave(), { code: 'in_use', message: 'disk "d" is in use by mount "m"' })
    t.match(await now('disk-d'), { status: 'READY', version: 1 })
    await write([{ record: await now('mount-m'), change: { metadata: { createdBy: 'b', updatedBy: 'b' } } }])
    t.same(await store.resources.usageCounts(d), { mount: 1 }, 'a change of something else keeps them')
    await write([{ record: await now('mount-m'), change: { spec: { disks: [] } } }])
    await leave()
    const late = write([{ record: await now('mount-m'), change: { spec: { disks: ['d'] } } }])
    await t.rejects(late, { message: 'spec.disks.0: disk "d" is DELETING' }, 'what is on its way out cannot be named')
  },
)

t.test('a record that is over remembers when, and names nobody any more', async t => {
  const { store, write, create, now, clock } = await prepared(t)
  await create('disk', 'e')
  await create('disk', 'd', { spec: { copyOf: 'e' } })
  const e = { kind: 'disk', workspace: 'main', parent: '', name: 'e' }
  await clock.tick(5)
  await write([{ record: await now('disk-d'), event: { name: 'delete', message: 'deleted' } }])
  t.same(await store.resources.usageCounts(e), { disk: 1 }, 'until it is gone it holds what it names')
  await clock.tick(5)
  const { resources } = await write([{ record: await now('disk-d'), event: { name: 'gone', message: 'gone' } }])
  t.match(resources, [{ status: 'GONE', internal: { terminatedAt: clock.now() } }])
  t.same(await store.resources.usageCounts(e), {})
  await clock.tick(5)
  const { resources: after } = await write([
    { record: await now('disk-d'), event: { name: 'delete', message: 'again' } },
  ])
  t.match(after, [{ internal: { terminatedAt: clock.now() - 5 } }])
  t.equal((await store.resources.events('disk-d')).length, 4)
})

t.test('who waits for a record is told of it and of its machines, and only when it has happened', async t => {
  const { told, write, running, store, create } = await prepared(t)
  const owner = await running('a', ['i'])
  told.length = 0
  await t.rejects(write([{ record: { ...owner, version: 1 }, change: {} }]), { code: 'changed_meanwhile' })
  t.same(told, [])
  await write([{ expect: owner }])
  t.same(told, [], 'nothing happened to it')
  const instance = await store.instances.get('i')
  if (!instance) throw new Error('no instance')
  await create('crew', 'b')
  told.length = 0
  const given = { uid: 'crew-b', kind: 'crew', workspace: 'main', parent: '', name: 'b' }
  await write([{ instance, change: { owner: given } }])
  t.same(told, ['crew-a', 'crew-b'], 'who had it and who has it')
})

t.test('what a machine costs follows from its owner as it is when that is written', async t => {
  const { store, write, running, now } = await prepared(t)
  await running('a', ['i'])
  const instance = await store.instances.get('i')
  if (!instance) throw new Error('no instance')
  const read = store.resources.getByUid
  let raced = false
  store.resources.getByUid = async uid => {
    const found = await read(uid)
    if (!raced) {
      raced = true
      await write([{ record: await now(uid), change: { spec: { count: 1, other: true } } }])
    }
    return found
  }
  await t.rejects(write([{ instance, event: 'suspended' }]), { code: 'changed_meanwhile' })
  await write([{ instance, event: 'suspended' }])
  t.match(await store.instances.get('i'), { status: 'standby' })
})

t.test(
  'a step that reads before it writes is taken again when somebody else wrote, and not for other failures',
  async t => {
    const raced = fail('changed_meanwhile', { kind: 'crew', name: 'a' })
    let runs = 0
    const third = async () => {
      if (++runs < 3) throw raced
      return runs
    }
    t.equal(await onNewest(third), 3)
    runs = 0
    await t.rejects(onNewest(third, 2), { code: 'changed_meanwhile' })
    t.equal(runs, 2)
    await t.rejects(
      onNewest(async () => {
        throw new Error('else')
      }),
      { message: 'else' },
    )
  },
)
