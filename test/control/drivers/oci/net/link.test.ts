/** The network slots of a server that was killed: what it had begun goes on beside the next one. */
import t from 'tap'
import { namesOf } from '../../../../../control/drivers/oci/names.ts'
import { existingSlots, makeLinks, removeLinks, slotAt } from '../../../../../control/drivers/oci/net/link.ts'
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
