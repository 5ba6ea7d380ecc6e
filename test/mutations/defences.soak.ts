/** Each defence of the channel and of outbound policies is missed by a test when it breaks. */
import t from 'tap'
import { channelDefences } from './channel.ts'
import { tryDefences } from './mutate.ts'
import { policyDefences } from './policy.ts'
import { wallDefences } from './walls.ts'

t.setTimeout(3_600_000)
t.test('whoever breaks a defence is told', async t => {
  await tryDefences([...channelDefences, ...policyDefences, ...wallDefences], [], ({ name }, outcome) =>
    t.equal(outcome, 'seen', name),
  )
})
