/** Version 2 of control groups, on a real tree of it: most boxes have one at /sys/fs/cgroup, a hybrid one beside it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freezeGroup, isFrozen, thawGroup } from '../../../../control/drivers/oci/cgroup/freezer.ts'
import { cgroupMounts } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { isPopulated, killGroup, processesIn, removeGroup } from '../../../../control/drivers/oci/cgroup/processes.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { oneTree } from '../../../support/hierarchy.ts'

const clock = systemClock()
const tree = cgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8')).find(({ type }) => type === 'cgroup2')?.point
const why = process.getuid?.() !== 0 ? 'root to make groups' : tree ? undefined : 'a version-2 tree is not mounted'
if (why || !tree) {
  t.pass(`skipped: ${why}`, { skip: `lacks: ${why}` })
  process.exit(0)
}

const hierarchy = oneTree(tree)

/** A group with a busy process in it and one in a group below, gone when the test ends. */
const busyGroup = async (t: Test) => {
  const path = `hutch-test-${process.pid}-${Math.floor(performance.now())}`
  mkdirSync(join(tree, path, 'below'), { recursive: true })
  const children = [path, `${path}/below`].map(group => {
    const child = spawn('/bin/sh', ['-c', 'read go; while :; do :; done'], { stdio: ['pipe', 'ignore', 'ignore'] })
    writeFileSync(join(tree, group, 'cgroup.procs'), String(child.pid))
    child.stdin.write('\n')
    return child
  })
  t.teardown(() => {
    for (const child of children) child.kill('SIGKILL')
    for (const group of [`${path}/below`, path]) if (existsSync(join(tree, group))) rmdirSync(join(tree, group))
  })
  return { path, children, pids: children.map(({ pid }) => pid as number) }
}

const cpuTicks = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

t.test('freezing stops the clock of everything in the group, thawing starts it again', async t => {
  const { path, pids } = await busyGroup(t)
  t.same((await processesIn(hierarchy, path)).toSorted(), pids.toSorted())
  t.equal(await isPopulated(hierarchy, path), true)
  await freezeGroup(hierarchy, path, clock)
  t.equal(await isFrozen(hierarchy, path), true)
  const before = pids.map(cpuTicks)
  await clock.sleep(150)
  t.same(pids.map(cpuTicks), before, 'nothing ran')
  await freezeGroup(hierarchy, path, clock)
  await thawGroup(hierarchy, path, clock)
  t.equal(await isFrozen(hierarchy, path), false)
  for (
    const end = clock.elapsed() + 60_000;
    clock.elapsed() < end && pids.some((pid, i) => cpuTicks(pid) === before[i]);
  )
    await clock.sleep(20)
  t.ok(
    pids.every((pid, i) => cpuTicks(pid) > (before[i] as number)),
    'all run again',
  )
  await killGroup(hierarchy, path, clock)
})

t.test('a frozen group dies without being thawed, and its directories go', async t => {
  const { path, children } = await busyGroup(t)
  const ended = Promise.all(children.map(async child => once(child, 'exit')))
  await freezeGroup(hierarchy, path, clock)
  await killGroup(hierarchy, path, clock)
  await ended
  t.equal(await isPopulated(hierarchy, path), false)
  await removeGroup(hierarchy, path, clock)
  t.notOk(existsSync(join(tree, path)))
  await removeGroup(hierarchy, path, clock)
  await t.rejects(freezeGroup(hierarchy, path, clock), { code: 'driver_failed', message: /no running machine/ })
})
