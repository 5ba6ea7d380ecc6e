/** Each defence in the tables is missed by a test when it breaks. */
import t from 'tap'
import { allDefences } from './all.ts'
import { tryDefences } from './mutate.ts'

t.setTimeout(3_600_000)
t.test('whoever breaks a defence is told', async t => {
  await tryDefences(allDefences, [], ({ name }, outcome) => t.equal(outcome, 'seen', name))
})
