/** The life of a sandbox through the whole host, machines of the fake driver, faults where they hurt. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { FaultPoint } from '../../../../../control/drivers/fake/index.ts'
import { fail } from '../../../../../shared/errors.ts'
import { fakeClock } from '../../../../support/clock.ts'
import { until } from '../../../../support/until.ts'
import { openTestHost, testHost, type TestHost } from '../../../../support/whole-host.ts'

const make = async ({ api }: TestHost, name: string, spec: object = {}) => {
  const { status, body } = await api('POST', '/sandboxes', {
    metadata: { name },
    spec: { ...spec, runtime: { image: 'busybox', ...(spec as { runtime?: object }).runtime } },
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const uids = ({ world }: TestHost) => [...world.machines.keys()]
const statuses = (body: { events: { status: string }[] }) => body.events.map(({ status }) => status)

/** Throws at `point` as often as told. */
const failing = (point: FaultPoint, times: number, error: () => unknown) => {
  let left = times
  return (at: FaultPoint) => {
    if (at === point && left-- > 0) throw error()
  }
}

t.test('created, deployed, deleted: the machine comes and goes, the record stays for a while', async t => {
  const clock = fakeClock()
  const host = await testHost(t, { clock })
  t.match(await make(host, 'a'), { status: 'DEPLOYING' })
  await clock.tick(10)
  const up = await host.until('a', 'DEPLOYED')
  t.equal(up.state, 'RUNNING')
  t.same(statuses(up), ['DEPLOYING', 'DEPLOYED'])
  t.equal(uids(host).length, 1)
  t.match(await host.api('DELETE', '/sandboxes/a'), { status: 200, body: { status: 'DELETING' } })
  await clock.tick(10)
  await host.until('a', 'TERMINATED')
  t.equal(uids(host).length, 0)
  await clock.tick(5 * 60_000 + 10)
  t.equal((await host.api('GET', '/sandboxes/a')).status, 404)
})

t.test('a start that fails is tried again; the sandbox remembers why', async t => {
  const host = await testHost(t, {
    faults: failing('create.half', 2, () =>
      fail('driver_failed', { driver: 'fake', step: 'start', reason: 'a hiccup' }),
    ),
  })
  await make(host, 'a')
  const up = await host.until('a', 'DEPLOYED')
  t.match(up.errors, [
    { code: 'DRIVER_FAILED', fatal: false, message: /a hiccup/ },
    { code: 'DRIVER_FAILED', fatal: false },
  ])
})

t.test('a start that keeps failing ends in FAILED with nothing left, and the name can be used again', async t => {
  const host = await testHost(t, { faults: failing('create.half', 3, () => new Error('no luck')) })
  await make(host, 'a')
  const failed = await host.until('a', 'FAILED')
  t.match(failed.errors.at(-1), { fatal: true, message: /no luck/ })
  t.equal(uids(host).length, 0)
  await make(host, 'a')
  await host.until('a', 'DEPLOYED')
})

t.test('busy is not a failure: it waits as long as it takes', async t => {
  const host = await testHost(t, {
    faults: failing('create.before', 5, () => fail('busy', { what: 'the box is full', next: 'wait' })),
  })
  await make(host, 'a')
  const up = await host.until('a', 'DEPLOYED')
  t.equal(up.errors, undefined)
})

t.test('a delete that fails is tried until everything is gone', async t => {
  const host = await testHost(t, { faults: failing('remove.half', 4, () => new Error('still mounted')) })
  await make(host, 'a')
  await host.until('a', 'DEPLOYED')
  await host.api('DELETE', '/sandboxes/a')
  await host.until('a', 'TERMINATED')
  t.equal(uids(host).length, 0)
})

t.test('deleted while it is being made', async t => {
  const door = Promise.withResolvers<void>()
  const host = await testHost(t, { faults: point => (point === 'create.half' ? door.promise : undefined) })
  await make(host, 'a')
  t.match(await host.api('DELETE', '/sandboxes/a'), { status: 200, body: { status: 'DELETING' } })
  door.resolve()
  await host.until('a', 'TERMINATED')
  t.equal(uids(host).length, 0)
})

t.test('a machine that ends by itself is made again, and it is said', async t => {
  const clock = fakeClock()
  const host = await testHost(t, { clock })
  await make(host, 'a')
  await clock.tick(10)
  await host.until('a', 'DEPLOYED')
  host.world.machines.clear()
  await clock.tick(5_000)
  await clock.tick(10)
  const again = await host.until('a', 'DEPLOYED')
  t.match(again.errors, [{ code: 'MACHINE_LOST', fatal: false }])
  t.equal(uids(host).length, 1)
})

t.test('rules of expiry end it: ttl, a policy, a date', async t => {
  const clock = fakeClock()
  const host = await testHost(t, { clock })
  await make(host, 'ttl', { runtime: { ttl: '60s' } })
  await make(host, 'age', {
    lifecycle: { expirationPolicies: [{ type: 'ttl-max-age', value: '2m', action: 'delete' }] },
  })
  await make(host, 'date', { runtime: { expires: new Date(clock.now() + 180_000).toISOString() } })
  await make(host, 'never')
  await clock.tick(10)
  for (const name of ['ttl', 'age', 'date', 'never']) await host.until(name, 'DEPLOYED')
  t.equal((await host.api('GET', '/sandboxes/ttl')).body.expiresIn, 60)
  t.equal((await host.api('GET', '/sandboxes/never')).body.expiresIn, undefined)
  await clock.tick(60_000)
  const ended = await host.until('ttl', 'TERMINATED')
  t.match(
    ended.events.map(({ message }: { message: string }) => message),
    /expired: ttl 60s/,
  )
  await host.until('age', 'DEPLOYED')
  await clock.tick(60_000)
  await host.until('age', 'TERMINATED')
  await clock.tick(60_000)
  await host.until('date', 'TERMINATED')
  await host.until('never', 'DEPLOYED')
  t.equal(uids(host).length, 1)
})

t.test('idle expiry counts from the last resume or suspend', async t => {
  const clock = fakeClock()
  const host = await testHost(t, { clock, config: { standbyAfterMs: 3_600_000 } })
  await make(host, 'idle', {
    lifecycle: { expirationPolicies: [{ type: 'ttl-idle', value: '60s', action: 'delete' }] },
  })
  await clock.tick(10)
  await host.until('idle', 'DEPLOYED')
  await clock.tick(59_000)
  await host.until('idle', 'DEPLOYED')
  await clock.tick(1_000)
  await host.until('idle', 'TERMINATED')
})

t.test('it sleeps when its spec says, from the next update on; and never when it says never', async t => {
  const clock = fakeClock()
  const idle = JSON.stringify({ keepAlive: 0, drives: { uidMap: '', gidMap: '' } })
  const daemon = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(idle))
  await once(daemon.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => daemon.close())
  const { port } = daemon.address() as AddressInfo
  const serve = async () => ({ host: '127.0.0.1', port, close() {} })
  const host = await testHost(t, { clock, serve, config: { standbyAfterMs: 3_600_000 } })
  const standby = (after: string) => ({ lifecycle: { standby: { after, cpuAware: false } } })
  const { spec } = await make(host, 'soon', standby('20s'))
  t.same(spec.lifecycle, { standby: { after: '20s', cpuAware: false } })
  await make(host, 'later')
  await make(host, 'never', standby('never'))
  await clock.tick(10)
  for (const name of ['soon', 'later', 'never']) await host.until(name, 'DEPLOYED')
  const state = async (name: string) => (await host.api('GET', `/sandboxes/${name}`)).body.state
  const asleep = (name: string) => async () => {
    await clock.tick(1_000)
    return (await state(name)) === 'STANDBY'
  }
  await until(asleep('soon'), 'it sleeps by its own rule')
  t.equal(await state('later'), 'RUNNING')
  await host.api('PUT', '/sandboxes/later', { metadata: { name: 'later' }, spec: standby('30s') })
  await until(asleep('later'), 'it sleeps by the rule of the update')
  await clock.tick(7_200_000)
  t.equal(await state('never'), 'RUNNING')
})

t.test('disabled it holds nothing; enabled it comes back', async t => {
  const host = await testHost(t)
  await make(host, 'a')
  await host.until('a', 'DEPLOYED')
  const put = (enabled: boolean) =>
    host.api('PUT', '/sandboxes/a', { metadata: { name: 'a' }, spec: { enabled, runtime: { image: 'busybox' } } })
  t.equal((await put(false)).status, 200)
  await host.until('a', 'DEACTIVATED')
  t.equal(uids(host).length, 0)
  t.equal((await put(true)).status, 200)
  await host.until('a', 'DEPLOYED')
  t.equal(uids(host).length, 1)
})

t.test('a change of memory replaces the machine; a change of ttl does not', async t => {
  const host = await testHost(t)
  await make(host, 'a', { runtime: { memory: 1024 } })
  await host.until('a', 'DEPLOYED')
  const put = (runtime: object) =>
    host.api('PUT', '/sandboxes/a', { metadata: { name: 'a' }, spec: { runtime: { image: 'busybox', ...runtime } } })
  await put({ memory: 1024, ttl: '1h' })
  await host.until('a', 'DEPLOYED')
  const creates = () => host.world.journal.filter(line => line.startsWith('create')).length
  t.equal(creates(), 1)
  await put({ memory: 2048, ttl: '1h' })
  await host.until('a', 'DEPLOYED')
  t.equal(creates(), 2)
  t.equal([...host.world.machines.values()][0]?.spec.memoryMb, 2048)
})

t.test('a restart of the host finds what runs, finishes what was half-done, removes what nobody claims', async t => {
  const first = await testHost(t)
  for (const name of ['a', 'b', 'c']) {
    await make(first, name)
    await first.until(name, 'DEPLOYED')
  }
  await first.close()
  const [a] = uids(first)
  const { world } = first
  // The box while no host ran: `b` lost its machine, a stranger appeared, `a` runs on.
  const b = uids(first)[1] as string
  world.machines.delete(b)
  const strange = { ...world.machines.get(a as string), phase: 'half-made' as const }
  world.machines.set('stranger', strange as never)
  world.journal.length = 0
  const second = await openTestHost(t, first.dataDir, { world })
  await second.until('a', 'DEPLOYED')
  await second.until('b', 'DEPLOYED')
  t.same(uids(second).toSorted(), [...new Set([...uids(first), b])].filter(uid => uid !== 'stranger').toSorted())
  t.notOk(world.machines.has('stranger'))
  t.notOk(world.journal.includes(`create ${a}`), 'what ran was adopted, not made again')
  t.ok(world.journal.includes(`create ${b}`))
})

t.test('the host is closed at each moment of a create; the next one finishes it', async t => {
  for (const point of ['create.before', 'create.half', 'create.after'] as const) {
    const reached = Promise.withResolvers<void>()
    const never = new Promise<void>(() => {})
    const first = await testHost(t, {
      faults: (at, _id, signal) => {
        if (at !== point) return undefined
        reached.resolve()
        return Promise.race([
          never,
          new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
        ])
      },
    })
    await make(first, 'a')
    await reached.promise
    await first.close()
    const second = await openTestHost(t, first.dataDir, { world: first.world })
    await second.until('a', 'DEPLOYED')
    t.equal(uids(second).length, 1, `one machine after ${point}`)
    await second.close()
  }
})

t.test('a moved image tag does not change a sandbox that was made anew', async t => {
  const clock = fakeClock()
  const host = await testHost(t, { clock })
  await make(host, 'a')
  await clock.tick(10)
  await host.until('a', 'DEPLOYED')
  const before = [...host.world.machines.values()][0]?.spec.rootfs
  t.ok(before)
  host.world.machines.clear()
  await clock.tick(5_010)
  await host.until('a', 'DEPLOYED')
  t.equal([...host.world.machines.values()][0]?.spec.rootfs, before)
})

t.test('what a caller may not set does not reach the daemon', async t => {
  const host = await testHost(t)
  await make(host, 'a', {
    runtime: {
      envs: [
        { name: 'A', value: '1' },
        { name: 'SECRET', value: 's3', secret: true },
      ],
    },
  })
  await host.until('a', 'DEPLOYED')
  const env = [...host.world.machines.values()][0]?.spec.env
  t.match(env, { A: '1', SECRET: 's3', SVC_NAME: 'a', SVC_WORKSPACE: 'default', SVC_REGION: 'local', HOST: '0.0.0.0' })
  t.same(
    Object.keys(env ?? {}).filter(name => name.startsWith('HUTCH_')),
    ['HUTCH_WIRE_NAMES'],
  )
})

t.test('asked for again, or interrupted, a restart ends in one machine that runs', async t => {
  const reached = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const host = await testHost(t, {
    faults: async at => {
      if (at !== 'end') return
      reached.resolve()
      await go.promise
    },
  })
  await make(host, 'a')
  await host.until('a', 'DEPLOYED')
  const [uid] = uids(host)
  const { world } = host
  world.journal.length = 0
  t.match(await host.api('POST', '/sandboxes/a/restart'), { status: 200, body: { status: 'DEPLOYING' } })
  await reached.promise
  t.match(await host.api('POST', '/sandboxes/a/restart'), { status: 200, body: { status: 'DEPLOYING' } }, 'under way')
  // Somebody kills it meanwhile.
  const machine = world.machines.get(uid as string)
  if (machine) machine.phase = 'stopped'
  go.resolve()
  await host.until('a', 'DEPLOYED')
  t.same(uids(host), [uid], 'the same machine')
  t.equal(world.machines.get(uid as string)?.phase, 'running')
  t.equal(world.journal.filter(line => line === `start ${uid}` || line === `create ${uid}`).length, 1, 'started once')
})

t.test('a host that is closed in the middle of a restart leaves it to the next one', async t => {
  const reached = Promise.withResolvers<void>()
  const first = await testHost(t, {
    faults: (at, _id, signal) => {
      if (at !== 'end') return undefined
      reached.resolve()
      return new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  await make(first, 'a')
  await first.until('a', 'DEPLOYED')
  const [uid] = uids(first)
  t.equal((await first.api('POST', '/sandboxes/a/restart')).status, 200)
  await reached.promise
  await first.close()
  const { world } = first
  t.equal(world.machines.get(uid as string)?.phase, 'running', 'nothing was ended yet')
  const second = await openTestHost(t, first.dataDir, { world })
  await second.until('a', 'DEPLOYED')
  t.same(uids(second), [uid])
  t.ok(world.journal.includes(`end ${uid}`), 'what was asked for is done')
  t.equal(world.machines.get(uid as string)?.phase, 'running')
})
