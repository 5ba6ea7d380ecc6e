/** What a running machine uses is seen from the host, although its table of mounts names no path of it. */
import { cpSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundlesInUse, treesInUse } from '../../../../control/core/runtime/in-use.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox } from '../../../support/oci.ts'

const [used, idle] = ['a'.repeat(32), 'b'.repeat(32)]

for (const [runtime, userNamespaces] of [
  ['runc', 'auto'],
  ['runc', 'off'],
  ['runsc', 'auto'],
] as const)
  t.test(`with ${runtime}, user namespaces "${userNamespaces}"`, { skip: whyNoMachines(runtime) ?? false }, async t => {
    const dir = t.testdir()
    const kit = makeKit(dir)
    const bundles = join(dir, 'bundles')
    for (const name of [used, idle]) cpSync(kit.bundleDir, join(bundles, name), { recursive: true })
    mkdirSync(join(dir, 'trees', used), { recursive: true })
    const rootfs = join(dir, 'trees', used, 'rootfs')
    renameSync(kit.rootfs, rootfs)
    const bundleDir = join(bundles, used)
    const box = await openBox(
      t,
      { ...kit, rootfs, bundleDir },
      { runtime, settings: { slotsAhead: 1, userNamespaces } },
    )
    const names = [used, idle]
    t.same([...treesInUse(names)], [])
    await box.driver.create(box.spec('a'))
    t.same([...treesInUse(names)], [used])
    await box.driver.close()
    t.same([...bundlesInUse(bundles, names)], [used], 'also when no server has it open')
    await (await box.reopen({ slotsAhead: 0 })).remove('a')
    t.same([...treesInUse(names)], [])
  })
