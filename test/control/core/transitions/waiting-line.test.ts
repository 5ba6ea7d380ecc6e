/** Who waits for a machine, and who is refused because it would take too long. */
import t, { type Test } from 'tap'
import { waitingLine } from '../../../../control/core/transitions/waiting-line.ts'
import type { Instance, Resource } from '../../../../control/core/store/store.ts'
import { isError } from '../../../../shared/errors.ts'
import { fakeClock } from '../../../support/clock.ts'
import { instanceOf, record } from '../../../support/records.ts'
import { crew, pool } from '../../../support/runner.ts'

const opened = () => {
  const clock = fakeClock()
  const line = waitingLine({ clock, rules: new Map([crew, pool].map(kind => [kind.kind, kind])) })
  let next = 0
  const tell = (resources: Resource[], instances: Instance[] = [], removed: Resource[] = []) =>
    line.written({ resources, instances, removed })
  const come = (kind = 'crew'): Resource => {
    const one = record({ kind, name: `n${++next}`, uid: `u${next}`, status: 'DEPLOYING', version: 1 })
    tell([one])
    return one
  }
  return { clock, line, tell, come, up: (owner: Resource) => tell([], [instanceOf(owner, { status: 'running' })]) }
}

const refusal = (t: Test, run: () => void) => {
  try {
    run()
  } catch (error) {
    if (isError(error, 'overloaded')) return error.details
    throw error
  }
  t.fail('it was let in')
  return undefined
}

t.test('records wait until they have a machine, or want none any more', t => {
  const { line, tell, come, up } = opened()
  const [a, b, c, d] = [come(), come(), come(), come()]
  come('pool')
  t.equal(line.length, 4, 'nobody waits for a record without a status')
  tell([{ ...a, version: 2 }])
  t.equal(line.length, 4)
  up(a)
  tell([{ ...b, version: 2, status: 'DELETING' }])
  tell([], [], [c])
  t.equal(line.length, 1)
  up(d)
  up(d)
  t.equal(line.length, 0)
  t.end()
})

t.test('a hundred are always let in; beyond that as many as are made in 50 seconds', async t => {
  const { clock, line, come, up } = opened()
  const waiting: Resource[] = []
  // A box that needs two seconds for each.
  for (let made = 0; made < 60; made++) {
    const one = come()
    await clock.tick(2_000)
    up(one)
  }
  for (let count = 0; count < 100; count++) {
    line.admit('main')
    waiting.push(come())
  }
  t.match(
    refusal(t, () => line.admit('main')),
    { waiting: 100, retryAfterS: 2 },
  )
  // It gets faster: a tenth of a second for each.
  for (const one of waiting.splice(0, 90)) {
    await clock.tick(100)
    up(one)
  }
  for (let count = 0; count < 200; count++) {
    line.admit('main')
    waiting.push(come())
  }
  while (line.length < 2_000) come()
  t.match(
    refusal(t, () => line.admit('main')),
    { waiting: 2_000, retryAfterS: Number },
  )
  t.doesNotThrow(() => line.admit('other'), 'who waits for nothing is let in all the same')
  for (const { uid } of waiting) line.leave(uid)
  t.ok(line.length < 2_000, 'who waits for an image is not in the line')
})
