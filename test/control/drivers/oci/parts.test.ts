/** Parts of the driver that read what the box says. */
import { readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../../shared/clock.ts'
import { jsonLog } from '../../../../shared/log.ts'
import { semaphore } from '../../../../shared/sync.ts'
import { sealOf } from '../../../../control/drivers/oci/boot-document.ts'
import { inTurn } from '../../../../control/drivers/oci/in-turn.ts'
import { createQuickMoves, ownList } from '../../../../control/drivers/oci/cgroup/quick-moves.ts'
import { cgroupMounts, openHierarchy } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { cpuSet, quotaUs, sharesOf } from '../../../../control/drivers/oci/cgroup/limits.ts'
import { filesOf } from '../../../../control/drivers/oci/layout.ts'
import { namesOf } from '../../../../control/drivers/oci/names.ts'
import { privilegesFrom } from '../../../../control/drivers/oci/privileges.ts'
import { hiddenFrom, treesAnew } from '../../../../control/drivers/oci/runtime.ts'
import { nameservers } from '../../../../control/drivers/oci/resolvers.ts'
import { until } from '../../../support/until.ts'

t.test('control group mounts are told from others, version by version', async t => {
  const text = [
    '22 27 0:21 / /proc rw,relatime - proc proc rw',
    '30 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory',
    '31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
  ].join('\n')
  t.same(cgroupMounts(text), [
    { point: '/sys/fs/cgroup/memory', type: 'cgroup', options: ['rw', 'memory'] },
    { point: '/sys/fs/cgroup/unified', type: 'cgroup2', options: ['rw'] },
  ])
})

t.test('crun is shown the trees of version 1 alone, and they are closed once more', async t => {
  const trees = { memory: '/sys/fs/cgroup/memory', beside: '/sys/fs/cgroup/unified', elsewhere: '/mnt/groups' }
  const hierarchy = { version: 1, mounts: Object.values(trees), beside: trees.beside } as const
  t.equal(hiddenFrom({ name: 'crun' }, hierarchy), trees.beside)
  t.same(treesAnew({ name: 'crun' }, hierarchy), [trees.memory])
  for (const name of ['runc', 'runsc']) {
    t.equal(hiddenFrom({ name }, hierarchy), undefined)
    t.same(treesAnew({ name }, hierarchy), [])
  }
  t.same(treesAnew({ name: 'crun' }, { ...hierarchy, version: 2 }), [], 'where there is one it is what lies there')
})

t.test(
  'a daemon seals where it has no place of its own, and believes what has no seal once, after an update',
  async t => {
    for (const name of ['runc', 'crun'] as const) t.equal(sealOf({ runtime: { name } }, { sealed: false }), undefined)
    const runtime = { name: 'runsc' } as const
    t.same(sealOf({ runtime }, undefined), { legacy: false }, 'what a new machine has there is its image’s')
    t.same(sealOf({ runtime }, { sealed: false }), { legacy: true })
    t.same(sealOf({ runtime }, { sealed: true }), { legacy: false })
  },
)

t.test('resolvers on the loopback are no use to a machine', async t => {
  t.same(nameservers('# x\nnameserver 127.0.0.53\nnameserver 192.0.2.1\n nameserver 198.51.100.2 \nsearch a\n'), [
    '192.0.2.1',
    '198.51.100.2',
  ])
  t.same(nameservers('nameserver ::1\nnameserver fe80::1%eth0\n'), [])
})

t.test('what root may give away is read from its capabilities', async t => {
  const limits = 'Max open files            20000                20000                files\n'
  t.same(privilegesFrom('CapEff:\t000001ffffffffff\n', limits), { raisesLimits: true, openFiles: 20_000 })
  t.same(privilegesFrom('CapEff:\t000001fffeffffff\n', limits), { raisesLimits: false, openFiles: 20_000 })
})

t.test('shares of the processor', async t => {
  t.equal(quotaUs(0.5), 50_000)
  t.equal(sharesOf(2), 2048)
  t.match(cpuSet({ processors: 4 }, 'some-id', 0.25), /^\d+$/, 'a part of one is on one')
  t.equal(cpuSet({ processors: 4 }, 'some-id', 10_000), '0-3', 'more than there are is all of them')
})

t.test('an id that could climb out of its directory is refused', async t => {
  for (const id of ['', '.', '..', '../a', 'a/b', '-a', 'a b', 'a'.repeat(65)])
    t.throws(() => filesOf('/data', id), { code: 'invalid_argument' }, `"${id}"`)
  t.equal(filesOf('/data', 'a-1').dir, '/data/machines/a-1')
})

t.test('names fit where the kernel and the firewall limit them', async t => {
  const names = namesOf('0123abcd')
  t.ok(`${names.interfacePrefix}2047`.length <= 15, 'an interface name is 15 bytes')
  t.ok(`${names.chain}-IN`.length <= 28, 'a chain name is 28')
})

t.test('a machine that does not come up keeps nobody waiting', async t => {
  const context = { starting: semaphore(1), clock: systemClock() }
  const never = Promise.withResolvers<void>()
  const begin = async () => {}
  let told = 0
  const onRising = () => told++
  const stuck = Array.from({ length: 4 }, () => inTurn(context, { begin, up: () => never.promise, onRising }))
  await inTurn(context, { begin, up: async () => {}, onRising })
  t.equal(told, 4, 'which is told of each of them, and of none that came up')
  t.pass('others start meanwhile')
  never.reject(new Error('it never came up'))
  for (const one of stuck) await t.rejects(one, { message: 'it never came up' })
  const order: string[] = []
  const named = (name: string) => ({
    begin: async () => void order.push(`${name} begins`),
    up: async () => void order.push(`${name} is up`),
  })
  await Promise.all(['a', 'b'].map(name => inTurn(context, named(name))))
  t.same(order, ['a begins', 'a is up', 'b begins', 'b is up'], 'one after the other where they do come up')
  await t.rejects(inTurn(context, { begin: () => Promise.reject(new Error('no start')), up: begin }), {
    message: 'no start',
  })
})

t.test('moves between control groups are kept quick while a machine starts, and change nothing', async t => {
  const text = '4:pids:/a:b\n3:cpu,cpuacct:/c\n0::/d\n'
  const mountOf = (controller: string) => `/${controller}`
  t.equal(ownList({ version: 1, mountOf }, text), '/pids/a:b/cgroup.procs')
  t.equal(ownList({ version: 2, mountOf: () => '/all' }, text), '/all/d/cgroup.procs')
  t.equal(ownList({ version: 1, mountOf }, '3:cpu,cpuacct:/c\n0::/d\n'), undefined)
  const list = ownList(await openHierarchy()) ?? ''
  t.ok(readFileSync(list, 'utf8').split('\n').includes(String(process.pid)), 'the group that this process is in')

  const said: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => said.push(line) })
  const file = join(t.testdir({ 'cgroup.procs': '' }), 'cgroup.procs')
  const { during } = createQuickMoves(file, { clock: systemClock(), log })
  const moved = () => readFileSync(file, 'utf8')
  const thrice = () => until(() => moved().includes('000'), 'three moves')
  await Promise.all([during(thrice), during(() => sleep(30))])
  t.match(moved(), /^0{3,}$/, 'again and again')
  await sleep(20)
  truncateSync(file)
  await sleep(60)
  t.notMatch(moved(), /0/, 'and not when none starts')
  await during(thrice)
  t.match(moved(), /^\0*0{3,}$/, 'with the next one again')
  await t.rejects(
    during(() => Promise.reject(new Error('no start'))),
    { message: 'no start' },
  )
  const closed = createQuickMoves(join(file, 'not', 'there'), { clock: systemClock(), log })
  t.same([await closed.during(async () => 1), await closed.during(async () => 2)], [1, 2])
  t.match(said, [/cgroup.slow_moves.*ENOTDIR/])
  t.equal(said.length, 1, 'said once')
})
