import { EventEmitter } from 'node:events'
import t from 'tap'
import { keepRequest, roomFor } from '../../../../control/network/egress/http/collect.ts'
import type { Judged } from '../../../../control/network/egress/http/judge.ts'
import type { Origin } from '../../../../control/network/egress/http/origin.ts'

const half = 33 * 1024 * 1024
const exchange = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed })

t.test('bodies that are held have their room until their exchange ends, however it does', async t => {
  const told: unknown[] = []
  const tenant = { heldBytes: 0, events: { add: (event: unknown) => told.push(event) } }
  const ask = (of: ReturnType<typeof exchange>) =>
    roomFor({ tenant, port: 443 } as unknown as Origin, { host: 'a.example', requestId: 'r' } as Judged, half, of)
  const first = exchange()
  t.equal(ask(first), true)
  t.equal(ask(exchange()), false)
  t.match(told, [{ verdict: 'blocked', reason: 'limit' }])
  first.emit('close')
  t.equal(tenant.heldBytes, 0)
  t.equal(ask(exchange(true)), true, 'nobody waits for the answer any more')
  t.equal(tenant.heldBytes, 0, 'and nothing is kept for it')
})

t.test('so have heads, and what is under way is known for as long', async t => {
  const tenant = { headBytes: 0, open: new Set(), events: { add() {} } }
  const keep = (of: ReturnType<typeof exchange>, bytes: number) =>
    keepRequest(
      { tenant, port: 443 } as unknown as Origin,
      { host: 'a.example', requestId: 'r', facts: { methods: [], paths: [] }, bytes } as unknown as Judged,
      of,
      () => {},
    )
  const first = exchange()
  t.match(keep(first, half / 2), { host: 'a.example', sent: false })
  t.equal(keep(exchange(), half), undefined)
  t.equal(tenant.open.size, 1)
  first.emit('close')
  t.ok(keep(exchange(true), half / 2), 'ended while it was judged')
  t.same([tenant.open.size, tenant.headBytes], [0, 0])
})
