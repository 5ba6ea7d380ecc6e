import t from 'tap'
import { sandboxLife } from '../../../../../control/core/kinds/sandbox/life.ts'
import { sandboxWorkload } from '../../../../../control/core/kinds/sandbox/workload.ts'
import { instanceOf, record } from '../../../../support/records.ts'

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

const workload = (standbyAfterMs: number) =>
  sandboxWorkload({ standbyAfterMs, reclaimAfterMs: 1, outbound: {} as never, plan: async () => ({}) as never })

t.test('one that sleeps sooner than its daemon collects by itself tidies up before', t => {
  const tidies = (standbyAfterMs: number, after?: string) => {
    const spec = after === undefined ? {} : { lifecycle: { standby: { after } } }
    return workload(standbyAfterMs).standby(record({ kind: 'sandbox', name: 'a', spec }), {} as never)?.tidies
  }
  t.same([tidies(9_999), tidies(10_000), tidies(15_000, '1s'), tidies(1, '10s')], [true, false, true, false])
  t.end()
})

t.test('a machine that has time to end is paid for until it has ended', t => {
  const { rates } = workload(1)
  const owner = (seconds: number) =>
    record({ kind: 'sandbox', name: 'a', spec: { runtime: { memory: 512, terminationGracePeriodSeconds: seconds } } })
  const stopping = instanceOf(owner(5), { status: 'stopping', startedAt: 1, memoryMb: 512 })
  t.same(rates(stopping, owner(5)), [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 0.5 }])
  t.same(rates(stopping, owner(0)), [], 'one without is gone at once')
  t.same(
    rates(instanceOf(owner(5), { status: 'stopping', memoryMb: 512 }), owner(5)),
    [],
    'one that never ran costs nothing',
  )
  t.end()
})
