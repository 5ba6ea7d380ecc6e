/** Weights of the disk, on trees made of plain files: which of them a kernel has depends on its schedulers. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { weighIo } from '../../../../control/drivers/oci/cgroup/io-weight.ts'
import { oneTree } from '../../../support/hierarchy.ts'

t.test('a machine has a part of the disk by its processors, within what the kernel takes', async t => {
  const tree = t.testdir()
  mkdirSync(join(tree, 'machine'))
  const file = (name: string) => join(tree, 'machine', name)
  for (const [version, name, cases] of [
    [
      2,
      'io.weight',
      [
        [1, 100],
        [0.25, 25],
        [0.001, 1],
        [500, 10_000],
      ],
    ],
    [
      1,
      'blkio.bfq.weight',
      [
        [1, 100],
        [0.001, 1],
        [500, 1_000],
      ],
    ],
    [
      1,
      'blkio.weight',
      [
        [2, 200],
        [0.001, 10],
        [500, 1_000],
      ],
    ],
  ] as const) {
    const hierarchy = oneTree(tree, { version })
    for (const [cpus, weight] of cases) {
      writeFileSync(file(name), '')
      await weighIo(hierarchy, 'machine', cpus)
      t.equal(readFileSync(file(name), 'utf8'), String(weight), `${name} of ${cpus}`)
    }
  }
})

t.test('a kernel without weights is left alone', async t => {
  const tree = t.testdir({ machine: {} })
  const hierarchy = oneTree(tree, { version: 1 })
  await weighIo(hierarchy, 'machine', 1)
  await weighIo({ ...hierarchy, mountOf: () => undefined }, 'machine', 1)
  await weighIo(hierarchy, 'no-such-group', 1)
})
