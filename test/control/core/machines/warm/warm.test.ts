/** Pools of a whole host: machines in memory, whose daemons are one that only says that it was claimed. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { fakeDriver, fakeWorld, type FakeOptions } from '../../../../../control/drivers/fake/index.ts'
import { rootStep } from '../../../../../control/drivers/driver.ts'
import { hashKey } from '../../../../../control/core/access/keys.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { fail } from '../../../../../shared/errors.ts'
import { jsonLog } from '../../../../../shared/log.ts'
import { call, type Answer } from '../../../../support/call.ts'
import { answerJson, standIn } from '../../../../support/stand-in.ts'
import { until as eventually } from '../../../../support/until.ts'
import { openTestHost, type HostOptions, type TestHost } from '../../../../support/whole-host.ts'

interface Pools {
  readonly pools: readonly { image: string; ready: number; starting: number; demanded: number; problem?: string }[]
  readonly obstacle?: string
  readonly claimed: number
  readonly missed: number
}

const pools = async ({ api }: TestHost): Promise<Pools> => (await api('GET', '/warm-pools')).body as Pools

/** Waits for a state of the pools; throws after half a minute. */
const until = async (host: TestHost, right: (found: Pools) => boolean): Promise<Pools> => {
  for (let tries = 0; tries < 3_000; tries++) {
    const found = await pools(host)
    if (right(found)) return found
    await sleep(10)
  }
  throw new Error(`the pools never came to that: ${JSON.stringify(await pools(host))}`)
}

const full = (host: TestHost, ready: number) => until(host, ({ pools: [first] }) => first?.ready === ready)

/** A box whose daemons answer claims with `status`. */
const box = async (t: Test) => {
  const state: { status: number; before?: () => Promise<void> } = { status: 200 }
  const claim = async (response: ServerResponse) => {
    const { status } = state
    await state.before?.()
    answerJson(response, status === 200 ? { claimed: true } : { error: 'no' }, status)
  }
  const daemon = await standIn(t, ({ path }, response) => {
    if (path.startsWith('/system/activity')) answerJson(response, { keepAlive: 0, drives: { uidMap: '', gidMap: '' } })
    else void claim(response)
  })
  const { hostname: host, port } = new URL(daemon.url)
  const serve: FakeOptions['serve'] = async () => ({ host, port: Number(port), close() {} })
  const claims = () => daemon.asked.filter(({ path }) => path === '/host/claim').map(({ body }) => JSON.parse(body))
  return { world: fakeWorld(), serve, state, claims, dataDir: t.testdir() }
}

const open = (t: Test, { dataDir, world, serve }: Awaited<ReturnType<typeof box>>, options: HostOptions = {}) =>
  openTestHost(t, dataDir, { world, serve, ...options, config: { warm: { base: 2 }, ...options.config } })

const create = (host: TestHost, name: string, runtime: object = {}): Promise<Answer> =>
  host.api('POST', '/sandboxes', { metadata: { name }, spec: { runtime: { image: 'base', memory: 512, ...runtime } } })

const machinesOf = async ({ host }: TestHost, name: string) =>
  host.store.instances.ofKey({ kind: 'sandbox', workspace: 'default', parent: '', name })

t.test(
  'a sandbox is given a machine that was there, which is nobody’s bill before, and the pool fills up again',
  async t => {
    const on = await box(t)
    const host = await open(t, on)
    await full(host, 2)
    const before = [...on.world.machines.keys()]
    t.same(
      [...on.world.machines.values()].map(({ phase }) => phase),
      ['frozen', 'frozen'],
    )
    for (const id of before) t.same(await host.host.store.meter.intervals(id), [], 'costs nobody anything')
    t.equal((await create(host, 'a', { envs: [{ name: 'FOO', value: 'bar' }] })).status, 200)
    await host.until('a', 'DEPLOYED')
    const [instance] = await machinesOf(host, 'a')
    t.ok(before.includes(instance?.id ?? ''), 'a machine of before')
    t.match(instance, { status: 'running', memoryMb: 512, errors: [], owner: { kind: 'sandbox', name: 'a' } })
    t.notOk(instance?.claimed, 'it is settled')
    t.match(on.claims(), [{ environment: { FOO: 'bar', SVC_NAME: 'a', WORKDIR: String } }])
    const machine = on.world.machines.get(instance?.id ?? '')
    t.match(machine, { phase: 'running', spec: { hostname: 'a', memoryMb: 512 }, limits: { memoryMb: 512 } })
    t.match(await host.host.store.meter.intervals(instance?.id ?? ''), [{ resourceName: 'a', quantity: 0.5, to: null }])
    t.match(await full(host, 2), { claimed: 1, missed: 0 })
    t.equal(on.world.machines.size, 3)
    // What it was to the pool is over: the record goes, and only its own machine with it.
    await host.api('DELETE', '/sandboxes/a')
    await host.until('a', 'TERMINATED')
    t.notOk(on.world.machines.has(instance?.id ?? ''))
    t.equal(on.world.machines.size, 2)
  },
)

t.test('how long a claim took does not count the time for which its machine was nobody’s', async t => {
  const on = await box(t)
  const real = systemClock()
  let later = 0
  const clock = { ...real, now: () => real.now() + later }
  const host = await open(t, on, { clock, config: { warm: { base: 1 } } })
  await full(host, 1)
  later = 3_600_000
  await create(host, 'a')
  await host.until('a', 'DEPLOYED')
  const { url } = await host.host.listen()
  const headers = { authorization: `Bearer ${host.host.first.adminKey}` }
  const text = () => fetch(`${url}/metrics`, { headers }).then(answer => answer.text())
  const counted = /^hutch_start_seconds_count\{way="claim"\} 1$/m
  await eventually(async () => counted.test(await text()), 'it is counted')
  t.match(await text(), /^hutch_start_seconds_bucket\{le="60",way="claim"\} 1$/m)
})

t.test(
  'more than there are, and another image: the rest is made as always; a pool of what there is not says why',
  async t => {
    const on = await box(t)
    const host = await open(t, on, { config: { warm: { base: 2, nothing: 1 } } })
    await full(host, 2)
    const names = ['a', 'b', 'c', 'd']
    await Promise.all(names.map(name => create(host, name)))
    await create(host, 'e', { image: 'busybox' })
    for (const name of [...names, 'e']) await host.until(name, 'DEPLOYED')
    t.match(await pools(host), { claimed: 2, missed: 3 })
    t.equal(on.claims().length, 2)
    t.match((await pools(host)).pools[1], { image: 'nothing', ready: 0, problem: /"nothing" is not known/ })
  },
)

t.test('a machine of no image becomes one of any: of an image that has none of its own, or none left', async t => {
  const on = await box(t)
  const host = await open(t, on, { config: { warm: { '*': 3, base: 1 } } })
  await until(host, ({ pools }) => pools.every(({ ready }) => ready > 0) && pools[0]?.ready === 3)
  const generic = [...on.world.machines].filter(([, { spec }]) => spec.rootfs === '/').map(([id]) => id)
  t.equal(generic.length, 3)
  const images = { a: 'base', b: 'busybox', c: 'base', d: 'base' }
  await create(host, 'a', { image: 'base' })
  await host.until('a', 'DEPLOYED')
  // Two at once: however full the pool of the image is again, it has one of them at most.
  await Promise.all((['b', 'c', 'd'] as const).map(name => create(host, name, { image: images[name] })))
  const ofNone = new Map<string, boolean>()
  for (const [name, image] of Object.entries(images)) {
    await host.until(name, 'DEPLOYED')
    const [instance] = await machinesOf(host, name)
    const { digest, rootfs } = await host.host.images.resolve(image)
    t.same(instance?.image, { digest, rootfs }, `${name} is of its image`)
    t.equal(on.world.machines.get(instance?.id ?? '')?.spec.rootfs, rootfs)
    ofNone.set(name, generic.includes(instance?.id ?? ''))
  }
  t.equal(ofNone.get('a'), false, 'those of the image are taken first')
  t.ok(ofNone.get('b'))
  t.ok(ofNone.get('c') || ofNone.get('d'), 'and others when there are no more')
  t.match(await pools(host), { claimed: 4, missed: 0 })
})

t.test('machines that nobody asked for: a server that leaves no sandbox leaves none of them', async t => {
  const on = await box(t)
  const unasked = { genericMachines: 2, config: { warm: {} } }
  const first = await open(t, on, unasked)
  t.match(await full(first, 2), { pools: [{ image: '*', configured: 2 }] })
  await first.close()
  t.same([...on.world.machines.keys()], [])
  const second = await open(t, on, unasked)
  await full(second, 2)
  await create(second, 'a', { image: 'busybox' })
  await second.until('a', 'DEPLOYED')
  await full(second, 2)
  await second.close()
  t.equal(on.world.machines.size, 3, 'with a sandbox they stay for the next one')
  const third = await open(t, on, unasked)
  t.match(await full(third, 2), { claimed: 0, missed: 0 })
  t.equal(on.world.journal.filter(line => line.startsWith('create')).length, 5, 'which has them')
  await third.api('DELETE', '/sandboxes/a')
  await third.until('a', 'TERMINATED')
  await third.close()
  t.same([...on.world.machines.keys()], [])
  t.same(await (await open(t, on, { config: { warm: {} } })).host.store.instances.every(), [])
})

t.test('where no machine can be of any image, none is made unasked', async t => {
  const world = fakeWorld()
  const { claimer, ...able } = fakeDriver({ world })
  if (!claimer) throw new Error('it has no claims')
  const { genericRoot, ...bare } = claimer
  t.ok(genericRoot)
  const host = await openTestHost(t, t.testdir(), { world, driver: { ...able, claimer: bare }, genericMachines: 2 })
  t.same(await pools(host), { pools: [], claimed: 0, missed: 0 })
})

t.test('a daemon that does not become somebody’s: its machine goes, and a new one is made', async t => {
  const on = await box(t)
  const host = await open(t, on)
  await full(host, 2)
  const before = [...on.world.machines.keys()]
  on.state.status = 409
  await create(host, 'a')
  const { errors } = await host.until('a', 'DEPLOYED')
  t.equal(errors, undefined, 'nobody is told of a thing that was mended')
  const [instance] = await machinesOf(host, 'a')
  t.equal(on.claims().length, 1)
  t.ok(on.world.journal.includes(`remove ${instance?.id}`), 'the half-claimed one went')
  t.ok(before.includes(instance?.id ?? ''))
  t.match(on.world.machines.get(instance?.id ?? '')?.spec, { hostname: 'a', env: { SVC_NAME: 'a' } })
})

t.test(
  'on a box where none gets the root of an image: three in a row go, then new ones are made, and operators are told',
  async t => {
    const on = await box(t)
    const lines: string[] = []
    const log = jsonLog({ level: 'warn', now: Date.now, write: line => lines.push(line) })
    let claims = 0
    const faults: FakeOptions['faults'] = point => {
      // The third goes well.
      if (point === 'claim' && ++claims !== 3)
        throw fail('driver_failed', { driver: 'fake', step: rootStep, reason: 'no pivot_root here' })
    }
    const host = await open(t, on, { faults, log, config: { warm: { '*': 2 } } })
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      await full(host, 2)
      await create(host, name)
      await host.until(name, 'DEPLOYED')
    }
    t.match(await full(host, 2), {
      pools: [{ image: '*', problem: /none is given for 1 image.*no pivot_root here/ }],
      claimed: 6,
      missed: 2,
    })
    const events = lines.map(line => JSON.parse(line).event)
    t.equal(events.filter(event => event === 'warm.generic-paused').length, 1, 'said once')
    t.equal(events.filter(event => event === 'instance.unclaimed').length, 5)
  },
)

t.test('a record that is written while its machine becomes its own keeps that machine', async t => {
  const on = await box(t)
  const written = Promise.withResolvers<void>()
  on.state.before = () => written.promise
  const host = await open(t, on)
  await full(host, 2)
  const before = [...on.world.machines.keys()]
  await create(host, 'a')
  while (on.claims().length === 0) await sleep(1)
  const { body } = await host.api('GET', '/sandboxes/a')
  const { metadata, spec } = body as { metadata: object; spec: object }
  const changed = await host.api('PUT', '/sandboxes/a', { metadata: { ...metadata, labels: { of: 'now' } }, spec })
  t.equal(changed.status, 200)
  // As a daemon says that is somebody's.
  on.state.status = 409
  written.resolve()
  await host.until('a', 'DEPLOYED')
  const [instance] = await machinesOf(host, 'a')
  t.ok(before.includes(instance?.id ?? ''))
  t.notOk(on.world.journal.includes(`remove ${instance?.id}`), 'it is the one of the pool')
  t.equal(on.claims().length, 1)
})

t.test(
  'the image of a claimed machine is gone before it is the sandbox’s: it fails with the cause, and the machine goes',
  async t => {
    const on = await box(t)
    const imagesDir = join(on.dataDir, 'images-of-the-box')
    const [digest, image] = ['a'.repeat(32), { env: {}, workdir: '/', user: '', command: [] }]
    mkdirSync(join(imagesDir, 'trees', digest, 'rootfs'), { recursive: true })
    mkdirSync(join(imagesDir, 'names'))
    writeFileSync(join(imagesDir, 'names/base.json'), JSON.stringify({ digest }))
    writeFileSync(join(imagesDir, 'trees', digest, 'image.json'), JSON.stringify(image))
    const struck = Promise.withResolvers<void>()
    let strike = false
    /** A failed claim is followed by a create at once, which is not to happen before the host has closed. */
    const closed = Promise.withResolvers<void>()
    const faults: FakeOptions['faults'] = at => {
      if (!strike) return undefined
      if (at.startsWith('create')) return closed.promise
      if (at !== 'claim') return undefined
      struck.resolve()
      throw new Error('struck')
    }
    const first = await open(t, on, { faults, config: { imagesDir } })
    await full(first, 2)
    strike = true
    await create(first, 'a')
    await struck.promise
    const [claimed] = await machinesOf(first, 'a')
    setTimeout(closed.resolve, 300)
    await first.close()
    rmSync(join(imagesDir, 'trees'), { recursive: true })
    const next = await open(t, on, { config: { imagesDir } })
    const { errors } = await next.until('a', 'FAILED')
    t.match(errors, [{ code: 'INVALID_IMAGE', message: /"base" is not known/ }])
    t.notOk(on.world.machines.has(claimed?.id ?? ''), 'the half-claimed machine went')
    t.same(await machinesOf(next, 'a'), [])
  },
)

t.test('the host dies in the middle of a claim: the next one finishes it, and nothing is left over', async t => {
  const on = await box(t)
  for (const point of ['claim', 'create.half'] as const) {
    const struck = Promise.withResolvers<void>()
    let strike = false
    const faults: FakeOptions['faults'] = at => {
      if (at !== point || !strike) return undefined
      struck.resolve()
      throw new Error('struck')
    }
    const first = await open(t, on, { faults })
    await full(first, 2)
    on.state.status = point === 'claim' ? 200 : 409
    strike = true
    await create(first, point === 'claim' ? 'a' : 'b')
    await struck.promise
    await first.close()
    on.state.status = 200
    const next = await open(t, on)
    await next.until('a', 'DEPLOYED')
    if (point !== 'claim') await next.until('b', 'DEPLOYED')
    await full(next, 2)
    const rows = await next.host.store.instances.every()
    t.same(rows.map(({ id }) => id).toSorted(), [...on.world.machines.keys()].toSorted(), 'each machine has its row')
    await next.close()
  }
})

t.test('switched off: the pools of before go with their machines, and nobody asks', async t => {
  const on = await box(t)
  const first = await open(t, on)
  await full(first, 2)
  await first.close()
  const next = await open(t, on, { config: { warm: {} } })
  for (let tries = 0; on.world.machines.size > 0 && tries < 1_000; tries++) await sleep(10)
  t.equal(on.world.machines.size, 0)
  t.same(await pools(next), { pools: [], claimed: 0, missed: 0 })
  await create(next, 'a')
  await next.until('a', 'DEPLOYED')
  t.same(on.claims(), [])
})

t.test('a driver that cannot give machines away: it says so, and makes each when it is asked for', async t => {
  const on = await box(t)
  const { claimer: _, ...driver } = fakeDriver({ world: on.world, serve: on.serve })
  const host = await open(t, on, { driver })
  t.match(await pools(host), { obstacle: /driver fake cannot give/, pools: [] })
  await create(host, 'a')
  await host.until('a', 'DEPLOYED')
  t.equal(on.world.machines.size, 1)
})

t.test('what is asked for is made ahead, as far as configured', async t => {
  const on = await box(t)
  const host = await open(t, on, { config: { warm: {}, warmDemand: 2 } })
  for (const name of ['a', 'b', 'c']) await create(host, name)
  const {
    pools: [pool],
  } = await full(host, 2)
  t.match(pool, { image: 'base', configured: 0, demanded: 2, ready: 2 })
  await create(host, 'd')
  await host.until('d', 'DEPLOYED')
  t.equal(on.claims().length, 1)
})

t.test('a hundred at once are let in; when the box does not keep up, the next are told when to come again', async t => {
  const on = await box(t)
  const host = await open(t, on, {
    config: { warm: {} },
    faults: (point, _id, signal) =>
      point === 'create.before'
        ? new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
        : undefined,
  })
  const answers = await Promise.all(Array.from({ length: 230 }, (_, at) => create(host, `n${at}`)))
  const counted = Map.groupBy(answers, ({ status }) => status)
  t.same([...counted.keys()].toSorted(), [200, 429])
  t.equal(counted.get(200)?.length, 200, 'what is made in 50 s before anything is known')
  const [refused] = counted.get(429) ?? []
  t.match(refused?.headers, { 'retry-after': /^[1-9]/ })
  t.match(refused?.body, { error: 'OVERLOADED', code: 429, status_code: 429, workspace: 'default', step: String })
  t.equal((await host.api('POST', '/sandboxes?createIfNotExist=true', { metadata: { name: 'n0' } })).status, 200)
})

t.test('only an admin of the account sees the pools', async t => {
  const { host } = await open(t, await box(t), { config: { warm: {} } })
  t.match(await call(host.api, 'GET', '/v0/warm-pools'), { status: 401 })
  const secret = 'key-of-the-workspace'
  await host.store.tenants.addApiKey({
    id: 'k',
    hash: hashKey(secret),
    name: 'k',
    account: 'default',
    workspace: 'default',
    role: 'admin',
    accountAdmin: false,
    createdAt: 0,
    expiresAt: null,
    scopes: null,
    owner: null,
    person: null,
    defaultWorkspace: null,
  })
  const headers = { authorization: `Bearer ${secret}` }
  t.match(await call(host.api, 'GET', '/v0/warm-pools', { headers }), { status: 403 })
})
