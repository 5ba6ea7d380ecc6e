import t from 'tap'
import { instanceLife } from '../../../../control/core/transitions/instance-life.ts'
import { stateTable } from '../../../../control/core/transitions/state-table.ts'

const who = { kind: 'lamp', name: 'a' }

t.test('a table says where each event leads, and refuses the rest by name', async t => {
  const lamp = stateTable('off', { off: { press: 'on' }, on: { press: 'off', break: 'broken' }, broken: {} })
  t.equal(lamp.initial, 'off')
  t.same(lamp.states, ['off', 'on', 'broken'])
  t.equal(lamp.next('off', 'press', who), 'on')
  t.ok(lamp.allows('on', 'break'))
  t.notOk(lamp.allows('off', 'break'))
  for (const [state, event] of [
    ['broken', 'press'],
    ['off', 'break'],
    ['off', 'toString'],
    ['constructor', 'name'],
    ['nowhere', 'press'],
  ] as const)
    t.throws(() => lamp.next(state, event, who), {
      code: 'wrong_state',
      message: `lamp "a" is ${state}; ${event} is not allowed`,
    })
})

t.test('whatever state a machine is in, it can be stopped, and only then it is', async t => {
  for (const state of instanceLife.states) t.equal(instanceLife.next(state, 'stop', who), 'stopping')
  t.same(Object.keys(instanceLife.moves.stopping), ['stop'])
})
