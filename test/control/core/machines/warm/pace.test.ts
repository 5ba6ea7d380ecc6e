import t from 'tap'
import { createPace } from '../../../../../control/core/machines/warm/pace.ts'
import { fakeClock } from '../../../../support/clock.ts'

t.test(
  'a pool is filled when nobody has asked for a while, and beside the claims only when it is nearly empty',
  async t => {
    const clock = fakeClock()
    const pace = createPace(clock)
    const half = { size: 16, has: 8 }
    t.ok(pace.mayFill(half), 'nobody has ever asked')
    for (let claim = 0; claim < 5; claim++) {
      pace.asked()
      t.notOk(pace.mayFill(half), 'at the moment of a claim')
      await clock.tick(100)
      t.notOk(pace.mayFill(half), 'while they come one after another')
    }
    t.equal(pace.leftMs(), 50)
    t.ok(pace.mayFill({ size: 16, has: 1 }), 'one is left of sixteen')
    t.notOk(pace.mayFill({ size: 16, has: 2 }))
    t.ok(pace.mayFill({ size: 2, has: 0 }), 'a small one that is empty')
    t.notOk(pace.mayFill({ size: 2, has: 1 }))
    t.ok(pace.mayFill({ size: 100, has: 1 }))
    t.notOk(pace.mayFill({ size: 100, has: 2 }), 'two of a hundred are left')
    await clock.tick(50)
    t.equal(pace.leftMs(), 0)
    t.ok(pace.mayFill(half), 'it is quiet again')
  },
)
