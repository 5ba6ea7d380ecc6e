/** A machine that is held at once: one that is up and awake and has nothing to be told. */
import t from 'tap'
import { reach } from '../../../../control/core/machines/reach.ts'
import type { Instance } from '../../../../control/core/store/store.ts'

const channel = { port: 1, machine: 'm', generation: 'g' }
const instance = (given: Partial<Instance>): Instance =>
  ({ id: 'm', status: 'running', address: { host: 'h', port: 2, channel }, ...given }) as Instance

/** What of it is asked: whether it is awake, and whether it has to be told something. */
const held = (one: Instance, { isDue = false, isAwake = true } = {}): boolean => {
  const parts = { configurer: { isDue: () => isDue }, standby: { holdAwake: () => (isAwake ? () => {} : undefined) } }
  return reach(parts as never).holdNow(one) !== undefined
}

t.test('a machine is held at once only where its daemon knows what its record says', async t => {
  t.ok(held(instance({})))
  t.notOk(held(instance({}), { isDue: true }))
  t.ok(held(instance({ address: { host: 'h', port: 2 } }), { isDue: true }), 'one without a channel cannot be told')
  t.notOk(held(instance({}), { isAwake: false }))
  t.notOk(held(instance({ status: 'starting' })))
})
