import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openHierarchy } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { filesOf } from '../../../../control/drivers/oci/layout.ts'
import { openOci } from '../../../../control/drivers/oci/index.ts'
import type { Marker } from '../../../../control/drivers/oci/marker.ts'
import { interfaceOf } from '../../../../control/drivers/oci/net/link.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'
import { killedHost } from '../../../support/killed-host.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh, traces } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())
const clock = systemClock()

t.test('after kill -9 the machines run on, spare slots are cleared, and the next host finds its own', async t => {
  const { config, names, spec } = await killedHost(t, kit, ['one', 'two'], 'two')
  // As when it was killed while it put the machine's memory away.
  const hierarchy = await openHierarchy()
  const [name, meanwhile] = hierarchy.version === 2 ? ['memory.swap.max', 'max'] : ['memory.swappiness', '200']
  const swap = join(hierarchy.mountOf('memory') as string, names.cgroup, 'one', name)
  const usual = readFileSync(swap, 'utf8')
  writeFileSync(swap, meanwhile)
  const driver = await openOci({ ...config, slotsAhead: 1 }, { log: silentLog, clock })
  const machines = await driver.list()
  t.same(
    machines.map(({ id, phase }) => `${id} ${phase}`),
    ['one running', 'two running'],
  )
  t.same(await driver.create(spec('one')), machines[0])
  t.equal(readFileSync(swap, 'utf8'), usual, 'what it swaps is as before')
  const third = await driver.create(spec('three'))
  t.notOk(
    machines.some(({ address }) => address?.host === third.address?.host),
    'held addresses are not given out',
  )
  rmSync(filesOf(config.dataDir, 'one').dir, { recursive: true, force: true })
  const anew = await driver.create(spec('one'))
  t.same(
    (await sh(anew, 'ls /.hutch | wc -l')).code,
    0,
    'one whose directory others have removed is ended before it is made anew',
  )
  for (const { id } of await driver.list()) await driver.remove(id)
  await driver.close()
  t.same(traces(names), [])
})

t.test(
  'a machine that has ended is started again with its files, and steers nothing on the host by its links',
  async t => {
    const { config, spec } = await killedHost(t, kit, [], 'open')
    const driver = await openOci({ ...config, slotsAhead: 0 }, { log: silentLog, clock })
    const first = await driver.create(spec('a'))
    const { host, port } = first.address as { host: string; port: number }
    const outside = mkdtempSync(join(tmpdir(), 'hutch-outside-'))
    t.teardown(() => rmSync(outside, { recursive: true, force: true }))
    await sh(first, `echo kept > /kept; rm -rf /etc/hosts; ln -s ${outside}/hosts /etc/hosts`)
    // No answer comes: the daemon that would give it is what ends.
    await fetch(`http://${host}:${port}/sh`, { method: 'POST', body: 'kill -TERM 1' }).catch(() => undefined)
    const deadline = clock.elapsed() + 30_000
    while ((await driver.list())[0]?.phase !== 'stopped' && clock.elapsed() < deadline) await clock.sleep(10)
    t.same(await driver.list(), [{ id: 'a', phase: 'stopped' }])
    const second = await driver.create(spec('a'))
    t.equal(second.phase, 'running')
    t.equal((await sh(second, 'cat /kept')).out, 'kept\n')
    t.match(
      (await sh(second, 'cat /etc/hosts')).out,
      new RegExp(`${second.address?.host} box`),
      'the names are of this start',
    )
    t.same(readdirSync(outside), [], 'a link of the tenant is not followed')
    await sh(second, `rm -rf /etc; ln -s ${outside} /etc; kill -TERM 1`).catch(() => undefined)
    while ((await driver.list())[0]?.phase !== 'stopped' && clock.elapsed() < deadline) await clock.sleep(10)
    t.equal((await driver.create(spec('a'))).phase, 'running')
    t.same(readdirSync(outside), [], 'nor is one in the place of /etc')
    await driver.remove('a')
    t.same(await driver.list(), [])
    await driver.close()
  },
)

t.test('what a machine that has ended had of the network is not taken from who has it by now', async t => {
  const box = await openBox(t, kit)
  const { driver, dataDir, names, spec } = box
  const [ended, running] = [['a', 'c'], 'b'] as const
  for (const id of ['a', 'b', 'c']) await driver.create(spec(id))
  const markerOf = (id: string) => JSON.parse(readFileSync(filesOf(dataDir, id).marker, 'utf8')) as Marker
  const { slot, address } = markerOf(running)
  const isThere = () => existsSync(join('/sys/class/net', interfaceOf(names, slot)))
  /** As when all numbers have been given out once more since it ended. */
  const age = (id: string) =>
    writeFileSync(filesOf(dataDir, id).marker, JSON.stringify({ ...markerOf(id), slot, address }))
  for (const id of ended) {
    await driver.end(id)
    age(id)
    await driver.end(id)
  }
  t.ok(isThere(), 'not by being ended again')
  await driver.close()
  const again = await box.reopen()
  t.equal((await again.create(spec('a'))).phase, 'running')
  t.ok(isThere(), 'nor by being started again, by the next server')
  t.not(markerOf('a').slot, slot, 'it has another place')
  await again.remove('c')
  t.ok(isThere(), 'nor by being removed')
})

t.test("what a version before has kept in the tenant's tree is taken in once, and nothing by a link", async t => {
  const { driver, dataDir, spec } = await openBox(t, kit, { settings: { slotsAhead: 0, diskQuota: 'off' } })
  const place = join(dataDir, 'machines/a/private')
  /** Its next start is the first one of a version that has such a place. */
  const again = async () => {
    await driver.end('a')
    rmSync(place, { recursive: true })
    return driver.create(spec('a'))
  }
  const first = await driver.create(spec('a'))
  const line =
    'mkdir -p /var/lib/hutchd/state /tmp; echo 1 > /var/lib/hutchd/state/x; echo 2 > /tmp/sandbox-api-proxy-state.json'
  t.equal((await sh(first, line)).code, 0)
  const second = await again()
  t.same(readdirSync(place), ['proxy-state.json', 'state'])
  t.equal(
    readFileSync(join(place, 'state/x'), 'utf8') + readFileSync(join(place, 'proxy-state.json'), 'utf8'),
    '1\n2\n',
  )
  t.equal((await sh(second, 'ls /var/lib/hutchd /tmp')).out.match(/state/), null)
  const outside = mkdtempSync(join(tmpdir(), 'hutch-outside-'))
  t.teardown(() => rmSync(outside, { recursive: true, force: true }))
  mkdirSync(join(outside, 'state'))
  const traps = `rm -r /var/lib/hutchd; ln -s ${outside} /var/lib/hutchd; mkfifo /tmp/sandbox-api-proxy-state.json`
  t.equal((await sh(second, traps)).code, 0)
  await again()
  t.same(readdirSync(place), [])
  t.same(readdirSync(outside), ['state'])
})

t.test('many at once all succeed', async t => {
  const { config, spec, names } = await killedHost(t, kit, [], 'open')
  const driver = await openOci({ ...config, slotsAhead: 2 }, { log: silentLog, clock })
  const ids = Array.from({ length: 16 }, (_, n) => `m${n}`)
  const made = await Promise.all(ids.map(id => driver.create(spec(id))))
  t.equal(new Set(made.map(({ address }) => address?.host)).size, ids.length)
  await Promise.all(ids.map(id => driver.remove(id)))
  await driver.close()
  t.same(traces(names), [])
})
