import t from 'tap'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../support/oci.ts'

const why = whyNoMachines('runsc')
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

t.test('with runsc a machine has a kernel of its own, freezes, and leaves no trace', async t => {
  const box = await openBox(t, makeKit(t.testdir()), { runtime: 'runsc', settings: { slotsAhead: 1 } })
  const machine = await box.driver.create(box.spec('gvisor-1'))
  t.match((await sh(machine, 'dmesg')).out, /gVisor/)
  t.match((await sh(machine, 'hostname')).out, 'box')
  const mounts = (await sh(machine, 'cat /proc/self/mountinfo /proc/mounts')).out
  t.match(mounts, / \/\.hutch /)
  for (const path of [box.dataDir, box.rootfs, box.bundleDir, box.names.tag, '/run/hutch', 'machines'])
    t.notOk(mounts.includes(path), `${path} is not in its table of mounts`)
  await box.driver.freezer?.freeze('gvisor-1')
  t.match(await box.driver.list(), [{ id: 'gvisor-1', phase: 'frozen' }])
  await box.driver.freezer?.thaw('gvisor-1')
  t.equal((await sh(machine, 'echo awake')).out, 'awake\n')
  await box.driver.remove('gvisor-1')
  t.same(await box.leftovers('gvisor-1'), [])
})
