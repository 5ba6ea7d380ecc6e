import t from 'tap'
import { fail } from '../../../shared/errors.ts'
import { fakeDriver, fakeWorld, type FaultPoint } from '../../../control/drivers/fake/index.ts'
import type { MachineSpec } from '../../../control/drivers/driver.ts'
import { driverSuite } from '../../conformance/driver.ts'
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

const spec = (id: string): MachineSpec => ({
  id,
  rootfs: '/nowhere',
  memoryMb: 256,
  cpus: 1,
  hostname: 'box',
  env: {},
  workdir: '/',
})

driverSuite(t, 'fake', async t => {
  const server = createServer(socket => socket.end())
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const world = fakeWorld()
  let served = 0
  const options = {
    world,
    serve: async ({ hostname }: MachineSpec) => {
      if (hostname === 'broken') throw fail('driver_failed', { driver: 'fake', step: 'serve', reason: 'broken' })
      // One address for each, as on a real box.
      return { host: `127.0.0.${1 + (served++ % 250)}`, port, close() {} }
    },
  }
  return {
    driver: fakeDriver(options),
    reopen: async () => fakeDriver(options),
    spec,
    broken: id => ({ ...spec(id), hostname: 'broken' }),
    async withRoom(mb) {
      world.diskMb = mb
      return fakeDriver(options)
    },
    leftovers: async id => (world.machines.has(id) ? ['a machine'] : []),
  }
})

t.test('a fault at each named point shows, and what it left is listed and removed', async t => {
  for (const point of ['create.before', 'create.half', 'create.after'] satisfies FaultPoint[]) {
    const world = fakeWorld()
    const broken = fakeDriver({
      world,
      faults(at) {
        if (at === point) throw new Error(`struck at ${at}`)
      },
    })
    await t.rejects(broken.create(spec('a')), { message: `struck at ${point}` })
    const phases = { 'create.before': undefined, 'create.half': 'half-made', 'create.after': 'running' }
    const driver = fakeDriver({ world })
    t.equal((await driver.list())[0]?.phase, phases[point as keyof typeof phases], point)
    t.equal((await driver.create(spec('a'))).phase, 'running')
    await driver.remove('a')
    t.same(await driver.list(), [])
  }
})

t.test('a remove that was struck half-way can be finished', async t => {
  const world = fakeWorld()
  let strike = true
  const driver = fakeDriver({
    world,
    faults(at) {
      if (at === 'remove.half' && strike) throw new Error('struck')
    },
  })
  await driver.create(spec('a'))
  await t.rejects(driver.remove('a'), { message: 'struck' })
  t.same(await driver.list(), [{ id: 'a', phase: 'half-made' }])
  strike = false
  await driver.remove('a')
  t.same(await driver.list(), [])
  t.same(world.journal, ['create a', 'remove a'])
})
