/** The memory of a frozen group goes to a swap file, which this test gives the box where it has no swap. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { freezeGroup, thawGroup } from '../../../../control/drivers/oci/cgroup/freezer.ts'
import { openHierarchy } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { reclaimGroup } from '../../../../control/drivers/oci/cgroup/reclaim.ts'
import { withSwap } from '../../../support/swap.ts'
import { until } from '../../../support/until.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { oneTree } from '../../../support/hierarchy.ts'

const clock = systemClock()
const hierarchy = await openHierarchy()
const signal = new AbortController().signal

/** A frozen group with one process that holds 32 MiB; `swapped` is how many bytes of them are in swap. */
const sleeper = async (t: Test) => {
  const path = `hutch-test-reclaim-${process.pid}`
  const dirs = ['memory', 'freezer'].map(controller => join(hierarchy.mountOf(controller) as string, path))
  for (const directory of new Set(dirs)) mkdirSync(directory)
  const script =
    'process.stdin.once("data", () => { globalThis.held = require("crypto").randomBytes(2 ** 25); console.log("held") })'
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(async () => {
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await thawGroup(hierarchy, path, clock)
    await ended
    for (const directory of new Set(dirs)) rmdirSync(directory)
  })
  for (const directory of new Set(dirs)) writeFileSync(join(directory, 'cgroup.procs'), String(child.pid))
  child.stdin.write('go')
  await once(child.stdout, 'data')
  await freezeGroup(hierarchy, path, clock)
  const swapped = () =>
    Number(/^VmSwap:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  return { path, swapped }
}

const why = process.getuid?.() === 0 ? undefined : 'root to make groups'

t.test('what is frozen goes to swap, and not when it is wanted', { skip: why ?? false }, async t => {
  if (!(await withSwap(t))) {
    t.pass('skipped', { skip: 'lacks: a kernel and a disk that swap' })
    return
  }
  const { path, swapped } = await sleeper(t)
  await reclaimGroup(hierarchy, path, { clock, signal: AbortSignal.abort() })
  t.equal(swapped(), 0)
  await reclaimGroup(hierarchy, path, { clock, signal })
  t.ok(swapped() > 2 ** 25, `${swapped()} bytes are in swap`)
  await reclaimGroup(hierarchy, 'hutch-test-no-such-group', { clock, signal })
})

t.test(
  'version 2: swap is allowed while the kernel is told to reclaim, and not after',
  { skip: why ?? false },
  async t => {
    if (!(await withSwap(t))) {
      t.pass('skipped', { skip: 'lacks: a kernel and a disk that swap' })
      return
    }
    // A tree of files, as this box may have no memory controller of version 2: what the kernel does with it is not tried here.
    const tree = t.testdir({ g: { 'memory.stat': 'anon 33554432\nfile 0\n', 'memory.swap.max': '0\n' } })
    const file = (name: string) => join(tree, 'g', name)
    await execa('mkfifo', [file('memory.reclaim')])
    const two = oneTree(tree, { limitsSwap: true })
    const reclaiming = reclaimGroup(two, 'g', { clock, signal })
    // Whoever writes there waits for who reads.
    await until(() => readFileSync(file('memory.swap.max'), 'utf8') === 'max', 'swap to be allowed')
    t.equal(await readFile(file('memory.reclaim'), 'utf8'), '1T\n')
    await reclaiming
    t.equal(readFileSync(file('memory.swap.max'), 'utf8'), '0')

    const wanted = new AbortController()
    const given = reclaimGroup(two, 'g', { clock, signal: wanted.signal })
    await until(() => readFileSync(file('memory.swap.max'), 'utf8') === 'max', 'the reclaim')
    wanted.abort()
    await given
    t.equal(readFileSync(file('memory.swap.max'), 'utf8'), '0', 'also when it is wanted meanwhile')
  },
)
