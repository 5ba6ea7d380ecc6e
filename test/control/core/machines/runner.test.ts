/** Records with any number of machines, on any number of drivers: what the sandbox is the case of one of. */
import t from 'tap'
import { fakeDriver, fakeWorld } from '../../../../control/drivers/fake/index.ts'
import { fail } from '../../../../shared/errors.ts'
import { instanceOf, put, putInstance, record } from '../../../support/records.ts'
import { afterMs, runner, type TestRunner } from '../../../support/runner.ts'

const settle = async ({ clock }: TestRunner) => {
  for (let turn = 0; turn < 5; turn++) await clock.tick(1)
}
const statusOf = async ({ store }: TestRunner, uid: string) => (await store.resources.getByUid(uid))?.status

t.test('a record gets as many machines as it wants, and is DEPLOYED with the first of them', async t => {
  const made = await runner(t)
  const { uid } = await made.create('crew', 'a', { count: 3 })
  await settle(made)
  t.same(await made.statuses(uid), ['running', 'running', 'running'])
  t.equal(await statusOf(made, uid), 'DEPLOYED')
  t.equal(made.world.machines.size, 3)
  for (const { id, memoryMb } of await made.store.instances.ofOwner(uid)) {
    t.equal(memoryMb, 2048)
    t.match(await made.store.meter.intervals(id), [{ resourceName: 'a', resourceType: 'agent', quantity: 2, to: null }])
  }
})

t.test('fewer are wanted: the newest stop, and cost nothing from that transaction on', async t => {
  const made = await runner(t)
  const { uid } = await made.create('crew', 'a', { count: 3 })
  await settle(made)
  const [first, ...others] = await made.store.instances.ofOwner(uid)
  await made.move(uid, '', { count: 1 })
  t.same((await made.statuses(uid)).toSorted(), ['running', 'stopping', 'stopping'])
  for (const { id } of others) t.match(await made.store.meter.intervals(id), [{ to: made.clock.now() }])
  await settle(made)
  t.match(await made.store.instances.ofOwner(uid), [{ id: first?.id, status: 'running' }])
  t.same([...made.world.machines.keys()], [first?.id])
  t.equal(await statusOf(made, uid), 'DEPLOYED')
})

t.test('what has to go is asked first: woken for it, and given no more time than its owner allows', async t => {
  const left = new Map<string, number>()
  const asked: string[] = []
  const made = await runner(t, {
    askToEnd: async ({ port }) => {
      const [[id, { phase }] = ['', { phase: '' }]] = [...made.world.machines]
      asked.push(`${phase} ${port}`)
      const there = left.get(id)
      if (there === undefined) throw new Error('nobody answers')
      return there
    },
  })
  const ending = async (name: string, graceMs: number, processes: number | undefined) => {
    asked.length = 0
    const { uid } = await made.create('crew', name, { graceMs })
    await settle(made)
    const [id = ''] = made.world.machines.keys()
    if (processes !== undefined) left.set(id, processes)
    await made.clock.tick(afterMs + 1_000)
    t.match(await made.statuses(uid), ['standby'])
    await made.move(uid, 'delete')
    await settle(made)
    return { id, there: () => made.world.machines.has(id) }
  }
  const orderly = await ending('orderly', 10_000, 2)
  t.equal(asked[0], 'running 9')
  await made.clock.tick(3_000)
  t.ok(orderly.there())
  left.set(orderly.id, 0)
  await made.clock.tick(500)
  t.notOk(orderly.there(), 'nothing is left: it goes at once')
  const stubborn = await ending('stubborn', 10_000, 2)
  await made.clock.tick(9_900)
  t.ok(stubborn.there())
  await made.clock.tick(200)
  t.notOk(stubborn.there(), 'its time is over')
  t.notOk((await ending('silent', 10_000, undefined)).there(), 'nobody to wait for')
  t.notOk((await ending('plain', 0, 2)).there(), 'none is given unless it is wanted')
  t.same(asked, [])
})

t.test(
  'however many daemons do not answer when they are to end, others are served, and they have their time and no more',
  async t => {
    const made = await runner(t, { askToEnd: () => new Promise(() => {}) })
    const names = Array.from({ length: 40 }, (_, at) => `deaf-${at}`)
    const deaf = await Promise.all(names.map(name => made.create('crew', name, { graceMs: 10_000 })))
    await settle(made)
    for (const { uid } of deaf) await made.move(uid, 'delete')
    await made.clock.tick(1_000)
    const { uid } = await made.create('crew', 'other', {})
    await made.clock.tick(1_000)
    t.equal(await statusOf(made, uid), 'DEPLOYED')
    t.equal(made.world.machines.size, 41)
    await made.clock.tick(9_000)
    t.equal(made.world.machines.size, 1)
  },
)

t.test('ends begin a few at a time, in order, and each has its own time from then on', async t => {
  const asked: string[] = []
  const world = fakeWorld()
  const byPort = new Map<number, string>()
  const serve = async ({ id }: { id: string }) => {
    const port = 10_000 + byPort.size
    byPort.set(port, id)
    return { host: '127.0.0.1', port, close: () => {} }
  }
  let left = 1
  const made = await runner(t, {
    world,
    driver: fakeDriver({ world, serve }),
    askToEnd: async ({ port }) => {
      const id = byPort.get(port) ?? ''
      if (!asked.includes(id)) asked.push(id)
      return left
    },
  })
  const owners: string[] = []
  for (let at = 0; at < 50; at++) owners.push((await made.create('crew', `box-${at}`, { graceMs: 3_000 })).uid)
  await settle(made)
  const ids: string[] = []
  for (const uid of owners) ids.push((await made.store.instances.ofOwner(uid))[0]?.id ?? '')
  for (const uid of owners) await made.move(uid, 'delete')
  await settle(made)
  t.same(asked, ids.slice(0, 16), 'those that came first')
  await made.clock.tick(500)
  t.same(asked, ids.slice(0, 32), 'what does not end keeps nobody waiting longer')
  left = 0
  await made.clock.tick(100)
  await settle(made)
  t.same(asked, ids, 'what has ended makes room at once')
  t.equal(world.machines.size, 0)

  left = 1
  asked.length = 0
  const again: string[] = []
  for (let at = 0; at < 17; at++) again.push((await made.create('crew', `next-${at}`, { graceMs: 600 })).uid)
  await settle(made)
  for (const uid of again) await made.move(uid, 'delete')
  await settle(made)
  await made.clock.tick(1_000)
  t.equal(world.machines.size, 1, 'the last one began later')
  await made.clock.tick(200)
  t.equal(world.machines.size, 0)
})

t.test('however many daemons do not answer when they are told something, others are served', async t => {
  let asked = 0
  const tell = () => {
    asked++
    return new Promise<never>(() => {})
  }
  const world = fakeWorld()
  const serve = async () => ({ host: '127.0.0.1', port: 9, channelPort: 10, close: () => {} })
  const made = await runner(t, { tell, world, driver: fakeDriver({ world, serve }) })
  const names = Array.from({ length: 40 }, (_, at) => `deaf-${at}`)
  const deaf = await Promise.all(names.map(name => made.create('crew', name, {})))
  await settle(made)
  for (const { uid } of deaf) await made.move(uid, '', { env: { NEW: 'yes' } })
  await settle(made)
  t.equal(asked, 32, 'a few at a time')
  const { uid } = await made.create('crew', 'other', {})
  await settle(made)
  t.equal(await statusOf(made, uid), 'DEPLOYED')
  await made.clock.tick(250)
  t.equal(asked, 40, 'and each for its turn')
})

t.test('however many daemons never come up, others start', async t => {
  const world = fakeWorld()
  let isUp = (id: string): boolean => id === ''
  const faults = (point: string, id: string) =>
    point === 'create.rising' && !isUp(id) ? new Promise<never>(() => {}) : undefined
  const made = await runner(t, { world, driver: fakeDriver({ world, faults }) })
  const names = Array.from({ length: 40 }, (_, at) => `down-${at}`)
  for (const name of names) await made.create('crew', name, {})
  await settle(made)
  const down = new Set(world.machines.keys())
  t.equal(down.size, 40, 'all of them have begun')
  isUp = id => !down.has(id)
  const { uid } = await made.create('crew', 'other', {})
  await settle(made)
  t.equal(await statusOf(made, uid), 'DEPLOYED')
})

t.test('a new revision: what there was goes before what comes', async t => {
  const made = await runner(t)
  const { uid } = await made.create('crew', 'a', { count: 2 })
  await settle(made)
  const before = [...made.world.machines.keys()]
  made.world.journal.length = 0
  await made.move(uid, '', { revision: '1' })
  t.same(await made.statuses(uid), ['stopping', 'stopping'])
  await settle(made)
  t.same(
    made.world.journal.map(line => line.split(' ')[0]),
    ['remove', 'remove', 'create', 'create'],
  )
  t.match(await made.store.instances.ofOwner(uid), [{ revision: '1' }, { revision: '1' }])
  t.notOk(
    [...made.world.machines.keys()].some(id => before.includes(id)),
    'machines of their own',
  )
})

t.test('a machine made of a revision that is not wanted any more when it is up does not stay', async t => {
  const door = Promise.withResolvers<void>()
  const made = await runner(t, { faults: point => (point === 'create.half' ? door.promise : undefined) })
  const { uid } = await made.create('crew', 'a', {})
  await settle(made)
  t.same(await made.statuses(uid), ['starting'])
  await made.move(uid, '', { revision: '1' })
  door.resolve()
  await settle(made)
  t.match(await made.store.instances.ofOwner(uid), [{ revision: '1', status: 'running' }])
  t.equal(made.world.machines.size, 1)
})

t.test('disabled and enabled again before the machine of before is gone', async t => {
  const door = Promise.withResolvers<void>()
  const made = await runner(t, { faults: point => (point === 'remove.before' ? door.promise : undefined) })
  const { uid } = await made.create('crew', 'a', {})
  await settle(made)
  await made.move(uid, 'disable')
  await settle(made)
  t.equal(await statusOf(made, uid), 'DEACTIVATING')
  await made.move(uid, 'enable')
  await settle(made)
  t.same(await made.statuses(uid), ['stopping', 'starting'], 'the new one waits')
  t.equal(made.world.machines.size, 1)
  door.resolve()
  await settle(made)
  t.same(await made.statuses(uid), ['running'])
  t.equal(await statusOf(made, uid), 'DEPLOYED')
})

t.test(
  'the last machine is gone: deleted is TERMINATED, disabled is DEACTIVATED, and in time it is forgotten',
  async t => {
    const made = await runner(t)
    const { uid } = await made.create('crew', 'a', { count: 2 })
    const off = await made.create('crew', 'b', {})
    await settle(made)
    await made.move(uid, 'delete')
    await made.move(off.uid, 'disable')
    await settle(made)
    t.equal(await statusOf(made, uid), 'TERMINATED')
    t.equal(await statusOf(made, off.uid), 'DEACTIVATED')
    t.equal(made.world.machines.size, 0)
    t.same(await made.store.instances.every(), [])
    await made.clock.tick(60_000)
    t.equal(await statusOf(made, uid), undefined)
    t.equal(await statusOf(made, off.uid), 'DEACTIVATED')
  },
)

t.test('a record that is gone leaves no machine behind', async t => {
  const made = await runner(t)
  const { uid } = await made.create('crew', 'a', { count: 2 })
  await settle(made)
  const found = await made.store.resources.getByUid(uid)
  if (found) await made.transition.write([{ remove: found }])
  made.runner.poke('crew', uid)
  await settle(made)
  t.same(await made.store.instances.every(), [])
  t.equal(made.world.machines.size, 0)
})

t.test('of several machines one ends: it is started again with its image, the others run on', async t => {
  const made = await runner(t)
  const { uid } = await made.create('crew', 'a', { count: 2, image: 'one' })
  await made.runner.start()
  await settle(made)
  const [first, second] = await made.store.instances.ofOwner(uid)
  await made.move(uid, '', { image: 'two' })
  made.world.machines.delete(first?.id ?? '')
  await made.clock.tick(5_000)
  await settle(made)
  const after = await made.store.instances.ofOwner(uid)
  t.match(after, [
    { id: first?.id, status: 'running', image: { digest: 'one' }, errors: [{ code: 'MACHINE_LOST' }] },
    { id: second?.id, status: 'running', errors: [] },
  ])
})

t.test('one that cannot be made is given up while the record may break, else tried again and again', async t => {
  let failing = true
  const made = await runner(t, {
    faults: point => {
      if (failing && point === 'create.half') throw new Error('no luck')
    },
  })
  const { uid } = await made.create('crew', 'a', {})
  await made.clock.tick(10_000)
  t.match(await made.store.resources.getByUid(uid), {
    status: 'FAILED',
    internal: { errors: [{ fatal: false }, { fatal: false }, { message: 'no luck', fatal: true }] },
  })
  t.same(await made.store.instances.every(), [])
  t.equal(made.world.machines.size, 0)
  const warm = await made.create('pool', 'p', {})
  await made.clock.tick(60_000)
  t.same(await made.statuses(warm.uid), ['starting'], 'without a status there is nothing to break')
  failing = false
  await made.clock.tick(60_000)
  t.same(await made.statuses(warm.uid), ['standby'], 'made, and asleep by now')
})

t.test('one that has run holds files, and is not given up because the box is not right just now', async t => {
  let failing = false
  const made = await runner(t, {
    faults: point => {
      if (failing && point === 'create.before') throw new Error('no luck')
    },
  })
  const { uid } = await made.create('crew', 'a', {})
  await made.runner.start()
  await settle(made)
  const [first] = await made.store.instances.ofOwner(uid)
  failing = true
  made.world.machines.clear()
  await made.clock.tick(200_000)
  t.equal(await statusOf(made, uid), 'DEPLOYING')
  const [trying] = await made.store.instances.ofOwner(uid)
  t.ok((trying?.attempts ?? 0) > 3)
  const told = [{ code: 'MACHINE_LOST' }, { code: 'INTERNAL', message: 'no luck' }]
  t.match(trying?.errors, told, 'what is said at each try is told once, and what was before stays')
  t.equal(trying?.errors.length, 2)
  failing = false
  await made.clock.tick(60_000)
  t.match(await made.store.instances.ofOwner(uid), [{ id: first?.id, attempts: 0 }])
  t.equal(await statusOf(made, uid), 'DEPLOYED')
})

t.test('a full box is waited for, however long', async t => {
  let full = true
  const made = await runner(t, {
    faults: point => {
      if (full && point === 'create.before') throw fail('busy', { what: 'the box is full', next: 'wait' })
    },
  })
  const { uid } = await made.create('crew', 'a', {})
  await made.clock.tick(60_000)
  t.same(await made.statuses(uid), ['starting'])
  full = false
  await made.clock.tick(1_000)
  t.match(await made.store.instances.ofOwner(uid), [{ status: 'running', errors: [] }])
})

t.test('anonymous machines are kept, sleep, and are nobody’s bill; given to somebody they are', async t => {
  const expected: number[] = []
  const made = await runner(t, { expectUse: (_, withinMs) => void expected.push(withinMs) })
  const { uid } = await made.create('pool', 'warm', { count: 2 })
  await settle(made)
  t.same(expected, [Infinity, Infinity], 'the way to their daemons is open, whenever they are wanted')
  await made.clock.tick(afterMs)
  t.same(await made.statuses(uid), ['standby', 'standby'])
  const [warm] = await made.store.instances.ofOwner(uid)
  if (!warm) throw new Error('no warm machine')
  t.same(await made.store.meter.intervals(warm.id), [])
  const owner = await put(made.store, record({ kind: 'crew', name: 'a', status: 'DEPLOYED' }))
  const { owner: given } = instanceOf(owner)
  await made.transition.write([
    { expect: owner },
    { instance: warm, event: 'resumed', change: { owner: given, revision: '0' } },
  ])
  t.match(await made.store.instances.ofOwner(owner.uid), [{ id: warm.id, status: 'running' }])
  t.match(await made.store.meter.intervals(warm.id), [{ resourceName: 'a', resourceType: 'agent', to: null }])
  made.runner.poke('pool', uid)
  await settle(made)
  t.equal((await made.statuses(uid)).length, 2, 'the pool fills up again')
  await made.create('crew', 'b', {})
  await settle(made)
  t.same(expected, [Infinity, Infinity, Infinity], 'but to nobody else’s')
})

t.test('each machine is looked after by its own driver; one that is not open is left alone', async t => {
  const [here, there] = [fakeWorld(), fakeWorld()]
  const other = { ...fakeDriver({ world: there }), name: 'other' }
  const spec = { rootfs: '/', memoryMb: 64, cpus: 1, hostname: 'x', env: {}, workdir: '/' }
  for (const id of ['old', 'orphan', 'ours']) await other.create({ ...spec, id })
  const made = await runner(t, { world: here, others: [other] })
  const add = async (name: string, id: string, driver: string) => {
    const owner = await put(made.store, record({ kind: 'crew', name, createdAt: made.clock.now() }))
    return putInstance(made.store, instanceOf(owner, { id, driver, address: { host: '127.0.0.1', port: 9 } }))
  }
  await add('a', 'old', 'other')
  const lost = await add('b', 'lost', 'other')
  const closed = await add('c', 'far', 'closed')
  // Its row names this host's own driver: what another one has under that id is nobody's.
  await fakeDriver({ world: here }).create({ ...spec, id: 'ours' })
  await add('e', 'ours', 'fake')
  await made.runner.start()
  await made.create('crew', 'd', {})
  await settle(made)
  t.same([...there.machines.keys()].toSorted(), ['lost', 'old'], 'adopted, made again there, the orphan removed')
  t.match(await made.store.instances.get(lost.id), { status: 'running', errors: [{ code: 'MACHINE_LOST' }] })
  t.same(await made.store.instances.get(closed.id), closed, 'nothing is known of it, so nothing is done')
  t.match(await made.store.instances.ofOwner('uid-d'), [{ driver: 'fake', status: 'running' }])
  t.equal(here.machines.size, 2, 'new ones are the preferred driver’s')
  await made.clock.tick(afterMs)
  t.equal(there.machines.get('old')?.phase, 'frozen')
  await made.move('uid-a', 'delete')
  await settle(made)
  t.notOk(there.machines.has('old'))
})

t.test('machines of before drivers were written down are of the configured one', async t => {
  const world = fakeWorld()
  await fakeDriver({ world }).create({
    id: 'i',
    rootfs: '/',
    memoryMb: 64,
    cpus: 1,
    hostname: 'x',
    env: {},
    workdir: '/',
  })
  const made = await runner(t, { world })
  const { instance } = await made.add({ driver: '' })
  await made.runner.start()
  await settle(made)
  t.match(await made.store.instances.get(instance.id), { driver: 'fake', status: 'running', errors: [] })
  t.same(world.journal, ['create i'])
})

t.test(
  'a driver that cannot look at the box keeps the host from starting, and later hides nobody else’s machines',
  async t => {
    let blind = true
    const there = fakeWorld()
    const other = {
      ...fakeDriver({
        world: there,
        faults: point => {
          if (blind && point === 'list') throw new Error('cannot look')
        },
      }),
      name: 'other',
    }
    const made = await runner(t, { others: [other] })
    await t.rejects(made.runner.start(), { message: 'cannot look' })
    blind = false
    await made.runner.start()
    const { uid } = await made.create('crew', 'a', {})
    await settle(made)
    blind = true
    made.world.machines.clear()
    await made.clock.tick(5_000)
    await settle(made)
    t.match(await made.store.instances.ofOwner(uid), [{ status: 'running', errors: [{ code: 'MACHINE_LOST' }] }])
  },
)

t.test('whoever wants a machine waits until one is up, and is told why there will be none', async t => {
  const door = Promise.withResolvers<void>()
  const made = await runner(t, { faults: point => (point === 'create.half' ? door.promise : undefined) })
  const owner = { uid: 'uid-a', kind: 'crew', name: 'a' }
  const { signal } = new AbortController()
  await t.rejects(made.runner.hold(owner, signal), { code: 'not_found', message: 'crew "a" not found' })
  await made.create('crew', 'a', {})
  const held = made.runner.hold(owner, signal)
  await settle(made)
  door.resolve()
  await settle(made)
  const { instance, upstream, release } = await held
  t.equal(instance.owner.uid, 'uid-a')
  t.same(upstream, { host: '127.0.0.1', port: 9 })
  await made.clock.tick(afterMs * 2)
  t.same(await made.statuses('uid-a'), ['running'])
  release()
  await made.clock.tick(afterMs)
  t.same(await made.statuses('uid-a'), ['standby'])
  await made.move('uid-a', 'disable')
  await settle(made)
  await t.rejects(made.runner.hold(owner, signal), { code: 'not_running', message: /crew "a" is DEACTIVATED/ })
})

t.test('what a record says after its machine has started is told to the daemon, before anybody uses it', async t => {
  const told: Record<string, string>[] = []
  let refuses: string | undefined
  const options = {
    async tell(_: unknown, { environment }: { environment: Record<string, string> }) {
      if (refuses) throw new Error(refuses)
      told.push(environment)
      return []
    },
  }
  const serve = async () => ({ host: '127.0.0.1', port: 9, channelPort: 10, close: () => {} })
  const world = fakeWorld()
  const made = await runner(t, { ...options, world, driver: fakeDriver({ world, serve }) })
  const { uid } = await made.create('crew', 'a', { env: { A: '1' } })
  await made.runner.start()
  await settle(made)
  const { signal } = new AbortController()
  const use = async () => (await made.runner.hold({ uid, kind: 'crew', name: 'a' }, signal)).release()
  await use()
  t.same(told, [], 'it has started with that')
  await made.move(uid, '', { count: 1 })
  await use()
  t.same(told, [], 'nothing to tell')

  await made.move(uid, '', { env: { A: '2' } })
  await Promise.all([use(), use()])
  t.same(told, [{ A: '2', WORKDIR: '/' }], 'once')
  await made.move(uid, '', { env: { A: '3' } })
  await settle(made)
  t.match(told[1], { A: '3' }, 'also when nobody uses it')

  await made.clock.tick(afterMs)
  t.same(await made.statuses(uid), ['standby'])
  await made.move(uid, '', { env: { A: '4' } })
  await settle(made)
  t.same(await made.statuses(uid), ['standby'], 'it is not woken for that')
  t.equal(told.length, 2)
  await use()
  t.match(told[2], { A: '4' })

  refuses = 'no daemon answers there'
  await made.move(uid, '', { env: { A: '5' } })
  await use()
  t.equal(told.length, 3, 'whoever uses it is served')
  refuses = undefined
  await use()
  t.equal(told.length, 3, 'and nobody asks at every call')
  await made.clock.tick(5_000)
  await use()
  t.match(told[3], { A: '5' })

  const next = await runner(t, { ...options, world, store: made.store, driver: fakeDriver({ world, serve }) })
  await next.runner.start()
  await next.runner.hold({ uid, kind: 'crew', name: 'a' }, signal)
  t.match(told[4], { A: '5' }, 'what an earlier host has told is not known')
  t.equal(told.length, 5)
})
