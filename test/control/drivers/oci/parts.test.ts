/** Parts of the driver that read what the box says. */
import t from 'tap'
import { systemClock } from '../../../../shared/clock.ts'
import { semaphore } from '../../../../shared/sync.ts'
import { inTurn } from '../../../../control/drivers/oci/in-turn.ts'
import { cgroupMounts } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { cpuSet, quotaUs, sharesOf } from '../../../../control/drivers/oci/cgroup/limits.ts'
import { filesOf } from '../../../../control/drivers/oci/layout.ts'
import { namesOf } from '../../../../control/drivers/oci/names.ts'
import { privilegesFrom } from '../../../../control/drivers/oci/privileges.ts'
import { nameservers } from '../../../../control/drivers/oci/resolvers.ts'

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
  t.match(cpuSet('some-id', 0.25), /^\d+$/, 'a part of one is on one')
  t.equal(cpuSet('some-id', 10_000).startsWith('0-'), true, 'more than there are is all of them')
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
  const stuck = Array.from({ length: 4 }, () =>
    inTurn(
      context,
      async () => {},
      () => never.promise,
    ),
  )
  await inTurn(
    context,
    async () => {},
    async () => {},
  )
  t.pass('others start meanwhile')
  never.reject(new Error('it never came up'))
  for (const one of stuck) await t.rejects(one, { message: 'it never came up' })
  const order: string[] = []
  const begin = (name: string) => async () => void order.push(`${name} begins`)
  await Promise.all(['a', 'b'].map(name => inTurn(context, begin(name), async () => void order.push(`${name} is up`))))
  t.same(order, ['a begins', 'a is up', 'b begins', 'b is up'], 'one after the other where they do come up')
  await t.rejects(
    inTurn(
      context,
      () => Promise.reject(new Error('no start')),
      async () => {},
    ),
    { message: 'no start' },
  )
})
