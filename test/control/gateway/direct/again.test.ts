/** What the host answers itself is never sent on, whatever was sent on before it. */
import t from 'tap'
import { goAgain, type Direct } from '../../../../control/gateway/direct/again.ts'
import { createPlans } from '../../../../control/gateway/direct/plan.ts'
import type { Turn } from '../../../../shared/lane/turn.ts'

/** Whether a path of a workload goes on as one before it did, to its daemon or to a port. */
const goesOn = (target: string, port?: number): boolean => {
  const held: string[] = []
  const direct = {
    plans: createPlans(),
    store: { moment: () => 1 },
    keys: { useAgain: () => true },
    answers: { takes: (_: unknown, method: string, path: string) => `${method} ${path}` === 'PUT /ours' },
    // Nothing further is done where nothing is held.
    holdNow: ({ id }: { id: string }) => void held.push(id),
  } as unknown as Direct
  const turn = { request: { method: 'PUT', rawHeaders: [] } } as unknown as Turn
  const plan = { link: { to: { port } } }
  direct.plans.keep(turn, '/w', { moment: 1, plan, sent: 'key', instance: { id: 'machine' } } as never)
  t.notOk(goAgain(direct, { base: '/w', target } as never, turn), 'it could not be held')
  return held.length > 0
}

t.test('it is asked for each request, by its method and path, at the daemon alone', async t => {
  t.notOk(goesOn('/ours'))
  t.ok(goesOn('/other'))
  t.ok(goesOn('/ours', 3000))
})
