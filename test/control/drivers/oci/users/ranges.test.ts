import t from 'tap'
import { delegated, idsOfSlot, idsPerMachine, probeIds } from '../../../../../control/drivers/oci/users/ranges.ts'

t.test('ranges that the box has given to others are read as subuid(5) has them', async t => {
  const text = '# a comment: 1:2\nann:100000:65536\n\n1000:2147483648:131072 \nbroken\nbob:x:1\n'
  t.same(delegated(text), [
    { first: 100_000, count: 65_536 },
    { first: 2_147_483_648, count: 131_072 },
  ])
})

t.test('no two slots of an instance share an id, nor a slot with a trial', async t => {
  t.equal(idsOfSlot(2 ** 31, 0), 2 ** 31)
  t.equal(idsOfSlot(2 ** 31, 1) - idsOfSlot(2 ** 31, 0), idsPerMachine)
  const last = idsOfSlot(2 ** 31 + 14 * 2_048 * idsPerMachine, 2_047) + idsPerMachine
  t.ok(last <= probeIds, `${last} is not beyond ${probeIds}`)
  t.ok(probeIds + idsPerMachine < 2 ** 32 - 1)
})
