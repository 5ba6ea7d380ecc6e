import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { chooseStack } from '../../../../control/drivers/oci/probe/runtime.ts'
import { withScratch } from '../../../../control/drivers/oci/probe/check.ts'
import { filesOf } from '../../../../control/drivers/oci/layout.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { filling, makeKit, openBox, sh } from '../../../support/oci.ts'
import { withSwap } from '../../../support/swap.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines('runsc'))

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
  const bytes = async () => (await box.driver.stats('gvisor-1'))?.memoryBytes ?? Infinity
  if (await withSwap(t)) {
    const before = await bytes()
    await box.driver.freezer?.reclaim?.('gvisor-1', AbortSignal.timeout(30_000))
    const after = await bytes()
    t.ok(after < before / 3, `asleep it holds ${after} bytes of ${before}, its files without names included`)
  }
  await box.driver.freezer?.thaw('gvisor-1')
  t.equal((await sh(machine, 'echo awake')).out, 'awake\n')
  await box.driver.remove('gvisor-1')
  t.same(await box.leftovers('gvisor-1'), [])
})

t.test('with runsc a machine writes what it was promised and no more, and keeps it over a restart', async t => {
  const kit = makeKit(t.testdir())
  const box = await openBox(t, kit, { runtime: 'runsc', settings: { slotsAhead: 1, diskQuota: 'on' } })
  const { fill, empty } = filling(t, kit)
  const machine = await box.driver.create(box.spec('full', { storageMb: 64 }))
  const { said, mb } = await fill(machine)
  t.match(said, /No space left on device/)
  t.ok(mb > 45 && mb <= 64, `${mb} MB`)
  await box.driver.end('full')
  const again = await box.driver.create(box.spec('full', { storageMb: 64 }))
  t.ok((await fill(again)).mb < 1, 'full as it was')
  await empty(again)
  t.ok((await fill(again)).mb > 45, 'what is removed can be written again')
  await box.driver.remove('full')
  t.same(await box.leftovers('full'), [])
})

t.test('root of a machine of runsc takes nothing of the box’s disk by what its daemon prints to', async t => {
  const box = await openBox(t, makeKit(t.testdir()), { runtime: 'runsc', settings: { slotsAhead: 1 } })
  const machine = await box.driver.create(box.spec('greedy'))
  const { output } = filesOf(box.dataDir, 'greedy')
  const take = (bytes: number) => sh(machine, `/bin/busybox fallocate -o 0 -l ${bytes} /proc/1/fd/1 && echo taken`)
  const { blocks, bsize } = statfsSync(dirname(output))
  t.equal(blocks * bsize, 64 * 1024 ** 2, 'all machines together')
  t.not(statSync(output).dev, statSync(box.dataDir).dev)
  t.match((await take(65 * 1024 ** 2)).out, /No space left on device/, 'more than there is')
  t.equal((await take(4 * 1024 ** 2)).out, 'taken\n', 'it can be opened')
  t.equal((await sh(machine, 'echo goes on')).out, 'goes on\n')
})

t.test('looking which network stack gVisor has leaves the devices of the box to their owner', async t => {
  const changed = () => statSync('/dev/null', { bigint: true }).ctimeNs
  const before = changed()
  await withScratch(t.testdir(), systemClock(), undefined, probe => chooseStack('runsc', probe))
  t.equal(changed(), before, 'runsc gives what it is started with to nobody')
})
