/** The network slots of a server that was killed: what it had begun goes on beside the next one. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { namesOf } from '../../../../../control/drivers/oci/names.ts'
import {
  existingSlots,
  makeLinks,
  removeLinks,
  slotAt,
  type Slot,
} from '../../../../../control/drivers/oci/net/link.ts'
import { whyNoMachines } from '../../../../support/machine.ts'
import { skipFile } from '../../../../support/skip-file.ts'

skipFile(whyNoMachines())

t.test(
  'slots that one makes again and three remove at the same time are gone in the end, and nobody is told of a failure',
  async t => {
    const names = namesOf(`l${process.pid.toString(36)}`)
    // TEST-NET-3 (RFC 5737): nobody routes there.
    const slots = [0, 1].map(index => slotAt(names, { base: 0xcb007100, prefix: 29 }, index, undefined))
    t.teardown(() => removeLinks(slots))
    for (let round = 0; round < 6; round++) {
      await makeLinks(slots)
      // As `networkSlots` does where there is something in the way.
      const made = makeLinks(slots)
        .catch(() => removeLinks(slots).then(() => makeLinks(slots)))
        .catch(() => 'they were removed under it')
      const removed = await Promise.allSettled([1, 2, 3].map(() => removeLinks(slots)))
      t.same(
        removed.flatMap(one => (one.status === 'rejected' ? [String(one.reason)] : [])),
        [],
      )
      await made
      await removeLinks(slots)
      t.same(await existingSlots(names), [])
    }
  },
)

t.test(
  'a slot has its own end of the pair, a way out by the host’s, and nothing of IPv6; what is in the way is said',
  async t => {
    const names = namesOf(`m${process.pid.toString(36)}`)
    const slots = [0, 1].map(index => slotAt(names, { base: 0xcb007108, prefix: 29 }, index, undefined))
    t.teardown(() => removeLinks(slots))
    await makeLinks(slots)
    for (const { netns, interface: name, address, gateway } of slots) {
      const shown = (...args: string[]) =>
        JSON.parse(execFileSync('ip', ['-j', '-n', netns, ...args], { encoding: 'utf8' }))
      const links = (shown('addr') as { ifname: string; flags: string[]; addr_info: Record<string, unknown>[] }[]).map(
        ({ ifname, flags, addr_info }) => [
          ifname,
          flags.includes('UP'),
          ...addr_info.filter(({ local }) => local !== '::1').map(({ local, prefixlen }) => `${local}/${prefixlen}`),
        ],
      )
      t.same(links, [
        ['lo', true, '127.0.0.1/8'],
        ['eth0', true, `${address}/31`],
      ])
      const [way] = shown('route', 'show', 'default')
      t.match(way, { gateway, dev: 'eth0' })
      const [outside] = JSON.parse(execFileSync('ip', ['-j', 'addr', 'show', 'dev', name], { encoding: 'utf8' }))
      t.ok(outside.flags.includes('UP'))
      t.match(outside.addr_info, { length: 1, 0: { local: gateway, prefixlen: 31 } })
      // Not on a kernel without IPv6, where the soak beside this file runs it.
      if (existsSync('/proc/sys/net/ipv6'))
        t.equal(readFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, 'utf8'), '1\n')
    }
    const [, other] = slots as [Slot, Slot]
    execFileSync('ip', ['-n', other.netns, 'link', 'del', 'dev', 'eth0'])
    const finish = new URL('../../../../../control/drivers/oci/net/build/finish-slots', import.meta.url).pathname
    const args = [other.interface, `/run/netns/${other.netns}`, other.address, other.gateway]
    const { status, stderr } = spawnSync(finish, args, { encoding: 'utf8' })
    t.same([status, stderr], [1, `${other.interface}: links: No such device\n`])
  },
)
