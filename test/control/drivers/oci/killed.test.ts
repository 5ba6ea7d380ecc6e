import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openOci } from '../../../../control/drivers/oci/index.ts'
import { openHierarchy } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { namesOf } from '../../../../control/drivers/oci/names.ts'
import { inSweepTurn } from '../../../../control/drivers/oci/sweep-turn.ts'
import { sweepDead, sweepInstance } from '../../../../control/drivers/oci/sweep.ts'
import { claimDataDir } from '../../../../control/base/one-host.ts'
import { whereaboutsOf } from '../../../../control/drivers/oci/whereabouts.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'
import { removeInstance, unattended } from '../../../../images/clean/instances.ts'
import { killedHost } from '../../../support/killed-host.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, traces } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())
const clock = systemClock()

t.test('killed at any moment of a create, what is left is listed or gone, and remove leaves no trace', async t => {
  for (const afterMs of [0, 40, 100]) {
    const { config, names, spec } = await killedHost(t, kit, ['a'], 'open', afterMs)
    const driver = await openOci({ ...config, slotsAhead: 0 }, { log: silentLog, clock })
    for (const { id, phase } of await driver.list()) {
      t.equal(id, 'a')
      t.ok(['half-made', 'running'].includes(phase), `${phase} after ${afterMs} ms`)
    }
    const made = await driver.create(spec('a'))
    t.equal(made.phase, 'running')
    await driver.remove('a')
    t.same(await driver.list(), [])
    await driver.close()
    t.same(traces(names), [], `killed after ${afterMs} ms`)
  }
})

t.test('an instance whose data directory is gone is swept, a living one is not', async t => {
  const dead = await killedHost(t, kit, ['a'], 'a')
  const living = await killedHost(t, kit, ['b'], 'b')
  rmSync(dead.dir, { recursive: true, force: true })
  t.ok(traces(dead.names).length > 0)
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.same(traces(dead.names), [])
  const driver = await openOci({ ...living.config, slotsAhead: 0 }, { log: silentLog, clock })
  t.match(await driver.list(), [{ id: 'b', phase: 'running' }])
  await driver.remove('b')
  await driver.close()
})

t.test('an instance whose directory is not to be seen here is not swept while a server has claimed it', async t => {
  const hidden = await killedHost(t, kit, ['c'], 'c')
  const before = traces(hidden.names)
  rmSync(hidden.dir, { recursive: true, force: true })
  const claim = await claimDataDir(hidden.dataDir)
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.same(traces(hidden.names), before)
  await claim.release()
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.same(traces(hidden.names), [])
})

t.test('one that begins anew while another sweeps after it waits for that, and loses nothing', async t => {
  const { config, names, spec } = await killedHost(t, kit, ['d'], 'd')
  const over = Promise.withResolvers<void>()
  const sweep = inSweepTurn(names.tag, async () => {
    await over.promise
    await sweepInstance(await openHierarchy(), names, clock)
  })
  t.notOk(await inSweepTurn(names.tag, async () => {}), 'one sweeps at a time')
  let opened = false
  const opening = openOci({ ...config, slotsAhead: 0 }, { log: silentLog, clock }).finally(() => {
    opened = true
  })
  await clock.sleep(1_500)
  t.notOk(opened)
  over.resolve()
  await sweep
  const driver = await opening
  t.equal((await driver.create(spec('e'))).phase, 'running', 'what it made was made after the sweep')
  t.ok(existsSync(names.runDir))
  for (const id of ['d', 'e']) await driver.remove(id)
  await driver.close()
  t.same(traces(names), [])
})

t.test('a range of ids that a dead instance has claimed is given back, also when it had come no further', async t => {
  const claim = `/run/hutch/ids/${2 ** 30}`
  mkdirSync('/run/hutch/ids', { recursive: true })
  t.teardown(() => rmSync(claim, { force: true }))
  const names = namesOf('0badcafe')
  const dataDir = join(realpathSync(t.testdir()), 'gone')
  const claimed = { tag: names.tag, dataDir, pid: 2 ** 30 }
  writeFileSync(claim, JSON.stringify(claimed))
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.same(traces(names), [String(2 ** 30)], 'a claim that proves nothing stays')
  mkdirSync(dataDir)
  const seen = await whereaboutsOf(dataDir)
  rmSync(dataDir, { recursive: true })
  writeFileSync(claim, JSON.stringify({ ...claimed, seen: { ...seen, pidNamespace: 'pid:[1]' } }))
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.same(traces(names), [String(2 ** 30)], 'nor is one swept whose process is of another namespace')
  writeFileSync(claim, JSON.stringify({ ...claimed, seen }))
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.same(traces(names), [])
})

t.test(
  'the machines of a server that is stopped live on when another starts where its directory is not to be seen',
  async t => {
    const stopped = await killedHost(t, kit, ['f'], 'f')
    const before = traces(stopped.names)
    const program = join(import.meta.dirname, '../../../programs/sweep-dead.ts')
    const sweepFrom = (how: string, ...unshared: string[]) => {
      const line = `${how}; exec ${process.execPath} ${program}`
      return execFileSync('unshare', ['--mount', ...unshared, 'sh', '-ec', line], { encoding: 'utf8' })
    }
    const hide = `mount -t tmpfs tmpfs ${stopped.dir}`
    t.equal(sweepFrom(hide), 'swept\n', 'in another mount namespace')
    t.same(traces(stopped.names), before)
    t.equal(
      sweepFrom(`${hide}; rmdir ${stopped.dir} 2>/dev/null || true`, '--pid', '--fork', '--mount-proc'),
      'swept\n',
      'and PID namespace',
    )
    t.same(traces(stopped.names), before)
    const driver = await openOci({ ...stopped.config, slotsAhead: 0 }, { log: silentLog, clock })
    t.match(await driver.list(), [{ id: 'f', phase: 'running' }])
    await driver.remove('f')
    await driver.close()
  },
)

t.test('what cannot be proven is named by make clean, and removed when it is told to', async t => {
  const left = await killedHost(t, kit, ['g'], 'g')
  await t.rejects(removeInstance(left.names.tag), /is there or has a server/)
  rmSync(left.dir, { recursive: true, force: true })
  mkdirSync(left.dir)
  await sweepDead(await openHierarchy(), { log: silentLog, clock })
  t.ok(traces(left.names).length > 0, 'another directory above it proves nothing')
  const lines = (await unattended()).filter(line => line.includes(left.names.tag))
  t.match(lines, [/stays \(1 sandboxes\).*make clean INSTANCE=/])
  t.match(await removeInstance(left.names.tag), /is removed/)
  t.same(traces(left.names), [])
  await t.rejects(removeInstance(left.names.tag), /has claimed nothing|no instance/)
})
