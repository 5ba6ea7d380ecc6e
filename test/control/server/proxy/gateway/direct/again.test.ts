/** What the host answers itself is never sent on, whatever was sent on before it. */
import t from 'tap'
import { again, type Direct } from '../../../../../../control/server/proxy/gateway/direct/again.ts'
import { createAdmissions } from '../../../../../../control/server/proxy/gateway/direct/admissions.ts'
import { createPlans } from '../../../../../../control/server/proxy/gateway/direct/plan.ts'
import type { Turn } from '../../../../../../shared/lane/turn.ts'

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
  const turn = { request: { method: 'PUT', rawHeaders: [] }, keeping: {} } as unknown as Turn
  const admission = { moment: 1, to: { port }, instance: { id: 'machine' } }
  direct.plans.keep(turn, '/w', { admission, sent: 'key' } as never)
  t.notOk(again(direct, { base: '/w', target } as never, turn), 'it could not be held')
  return held.length > 0
}

t.test('it is asked for each request, by its method and path, at the daemon alone', async t => {
  t.notOk(goesOn('/ours'))
  t.ok(goesOn('/other'))
  t.ok(goesOn('/ours', 3000))
})

t.test('a connection is known from its first request on whose key was let in there on another one', async t => {
  const known: unknown[] = []
  const [admissions, plans] = [createAdmissions(), createPlans()]
  const withheld = { headers: new Set<string>(), cookies: false }
  const direct = {
    admissions,
    plans,
    store: { moment: () => 1 },
    keys: { useAgain: () => true },
    credentialOf: () => ({ claim: { key: 'key' }, inAddress: false, withheld }),
    identityOf: () => [],
    ourHeaders: [],
    connections: { link: () => ({ to: {} }) },
    holdNow: () => () => {},
    standing: { watch() {} },
    admitted: (socket: unknown) => void known.push(socket),
  } as unknown as Direct
  const address = { form: 'path', base: '/w', target: '/' } as never
  const turnOn = (socket: object) =>
    ({ request: { method: 'GET', rawHeaders: [], headers: {}, socket }, keeping: {}, onOver() {} }) as unknown as Turn
  const [first, second] = [turnOn({ is: 'first' }), turnOn({ is: 'second' })]
  t.equal(again(direct, address, first), undefined, 'nobody was let in yet')
  admissions.keep('key', first, address, { moment: 1, to: {}, instance: {} } as never)
  for (const _ of [1, 2]) t.ok(again(direct, address, second))
  t.same(known, [{ is: 'second' }], 'once')
})
