import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { processesIn } from '../../../../control/drivers/oci/cgroup/processes.ts'
import { openHierarchy } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { program } from '../../../../control/drivers/oci/locks/programs.ts'
import { groupOf } from '../../../../control/drivers/oci/context.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh, type Box } from '../../../support/oci.ts'
import { locks as mostLocks } from '../../../support/shared-tables.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())
const clock = systemClock()
const hierarchy = await openHierarchy()
const source = new URL('../../../programs/take-locks.c', import.meta.url).pathname
execFileSync('gcc', ['-static', '-O2', '-o', join(kit.rootfs, 'bin/take-locks'), source])

interface Ended {
  readonly machine: string
  readonly processes: number
}

const boxWith = async (t: Test): Promise<{ box: Box; ended: Ended[] }> => {
  const ended: Ended[] = []
  const warn = (event: string, facts: object) => {
    if (event === 'locks.ended') ended.push(facts as Ended)
    if (event === 'locks.unwatched') t.fail('the watch failed', { found: facts })
  }
  return { box: await openBox(t, kit, { log: { ...silentLog, warn } }), ended }
}

/** Numbers of the machine's processes that take locks. */
const lockers = async ({ names }: Box, id: string): Promise<number[]> =>
  (await processesIn(hierarchy, groupOf(names, id))).filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'take-locks\n'
    } catch {
      // It has ended.
      return false
    }
  })

const until = async (what: () => Promise<boolean>): Promise<boolean> => {
  for (const end = clock.elapsed() + 40_000; clock.elapsed() < end; await clock.sleep(50)) if (await what()) return true
  return false
}

const hold = (how: string, count: number) => `take-locks ${how} ${count} < /dev/null > /tmp/${how}-${count} 2>&1 &`

t.test('a machine has no more record locks than it may, whoever made them and of whatever files', async t => {
  const { box, ended } = await boxWith(t)
  const [machine, neighbour] = await Promise.all(['a', 'b'].map(name => box.driver.create(box.spec(name))))
  if (!machine || !neighbour) throw new Error('there are two')
  await sh(neighbour, hold('file', mostLocks - 500))
  await sh(machine, hold('file', 200))
  t.ok(await until(async () => (await lockers(box, 'a')).length === 1))
  const [modest] = await lockers(box, 'a')
  for (const how of ['file', 'memory', 'dead', 'spread']) await sh(machine, hold(how, 3 * mostLocks))
  // All that may be left: who has few, the parent of a hundred, and as many of these as fit, who have 300 each.
  const left = 2 + Math.floor((mostLocks - 200) / (mostLocks * 0.03))
  t.ok(await until(async () => (await lockers(box, 'a')).length > left), 'they run')
  const told = ['file', 'memory', 'dead'].length + 100 + 2 - left
  t.ok(
    await until(async () => ended.reduce((sum, { processes }) => sum + processes, 0) >= told),
    'whoever has too many is ended, and told',
  )
  t.ok(await until(async () => (await lockers(box, 'a')).length <= left))
  t.ok((await lockers(box, 'a')).includes(modest as number), 'who has few is left')
  t.same([...new Set(ended.map(one => one.machine))], ['a'], 'nobody else was ended')
  t.equal((await lockers(box, 'b')).length, 1, 'nor is a neighbour who has as many as he may')
})

t.test('where there has been no machine there is nothing to end, and nothing to complain of', async t => {
  const found = execFileSync(program('end-lockers'), [String(mostLocks), '/sys/fs/cgroup/hutch-none'], {
    encoding: 'utf8',
  })
  t.match(found, /^used \d+\n$/)
})

t.test('locks that stay with a file which nobody has are refused, as by old kernels', async t => {
  const { box } = await boxWith(t)
  const machine = await box.driver.create(box.spec('a'))
  t.equal((await sh(machine, 'take-locks commands')).out.trim(), `${'EINVAL '.repeat(6)}done done`)
})
