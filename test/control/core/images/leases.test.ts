import t from 'tap'
import { createLeases } from '../../../../control/core/images/leases.ts'
import { fakeClock } from '../../../support/clock.ts'

t.test('what somebody has just asked for is not collected, for ten minutes', async t => {
  const clock = fakeClock()
  const leases = createLeases(clock)
  t.equal(leases.isHeld('a'), false)
  leases.hold('a')
  await clock.tick(599_000)
  t.equal(leases.isHeld('a'), true)
  leases.hold('a')
  await clock.tick(599_000)
  t.equal(leases.isHeld('a'), true, 'asked for again')
  await clock.tick(2_000)
  t.equal(leases.isHeld('a'), false)
})
