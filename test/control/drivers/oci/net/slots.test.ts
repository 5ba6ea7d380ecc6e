import { mkdirSync, rmSync } from 'node:fs'
import t from 'tap'
import { namesOf } from '../../../../../control/drivers/oci/names.ts'
import { slotsIn } from '../../../../../control/drivers/oci/net/block.ts'
import { existingSlots } from '../../../../../control/drivers/oci/net/link.ts'
import { networkSlots } from '../../../../../control/drivers/oci/net/slots.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { whyNoMachines } from '../../../../support/machine.ts'

t.test(
  'numbers of slots that can neither be made nor removed are not lost',
  { skip: whyNoMachines() ?? false },
  async t => {
    const names = namesOf(`t${process.pid.toString(36)}`)
    // TEST-NET-3 (RFC 5737): nobody routes there.
    const block = { base: 0xcb007100, prefix: 29 }
    const places = Array.from({ length: slotsIn(block) }, (_, index) => `/run/netns/${names.netnsPrefix}${index}`)
    const clear = () => places.forEach(place => rmSync(place, { recursive: true, force: true }))
    // A directory with something in it is in the way of a namespace, and ip(8) does not remove it.
    for (const place of places) mkdirSync(`${place}/in-the-way`, { recursive: true })
    const slots = networkSlots(
      { names, block, firstId: undefined, ahead: 0, taken: new Map() },
      { log: silentLog, beforeMaking: async () => {} },
    )
    t.teardown(slots.close)
    for (const _ of places) await t.rejects(slots.take('a'), { code: 'driver_failed' })
    clear()
    const slot = await slots.take('a')
    t.ok(slot.index < places.length)
    await slots.drop('a')
  },
)

t.test(
  'two who drop a machine at once do not free what another has by then',
  { skip: whyNoMachines() ?? false },
  async t => {
    const names = namesOf(`d${process.pid.toString(36)}`)
    const block = { base: 0xcb007110, prefix: 29 }
    const slots = networkSlots(
      { names, block, firstId: undefined, ahead: 0, taken: new Map() },
      { log: silentLog, beforeMaking: async () => {} },
    )
    t.teardown(slots.close)
    const machines = Array.from({ length: slotsIn(block) }, (_, at) => `m${at}`)
    for (const machine of machines) await slots.take(machine)
    for (let round = 0; round < 5; round++) {
      const drops = [slots.drop('m0'), slots.drop('m0')]
      await Promise.race(drops)
      const taken = slots.take('m0')
      await Promise.all([taken, ...drops])
      await t.rejects(slots.take('one more'), { code: 'busy' }, 'each number has its machine')
    }
    for (const machine of machines) await slots.drop(machine)
    t.same(await existingSlots(names), [], 'and each machine its own')
  },
)
