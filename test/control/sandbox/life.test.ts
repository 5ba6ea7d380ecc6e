import t from 'tap'
import { sandboxLife } from '../../../control/sandbox/life.ts'

const who = { kind: 'sandbox', name: 'a' }

t.test('the table is the one that is documented', async t => {
  t.matchSnapshot(
    sandboxLife.states.flatMap(state =>
      Object.entries(sandboxLife.moves[state]).map(([event, next]) => `${state} -- ${event} --> ${next}`),
    ),
  )
})

t.test('every state can be left by delete, and TERMINATED stays', async t => {
  for (const state of sandboxLife.states)
    t.match(sandboxLife.next(state, 'delete', who), /^(DELETING|TERMINATED)$/, state)
})

t.test('an illegal move names state and event', async t => {
  t.throws(() => sandboxLife.next('TERMINATED', 'deployed', who), {
    code: 'wrong_state',
    status: 409,
    message: 'sandbox "a" is TERMINATED; deployed is not allowed',
  })
  t.throws(() => sandboxLife.next('NOWHERE', 'deployed', who), { code: 'wrong_state' })
})
