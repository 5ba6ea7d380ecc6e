import t from 'tap'
import { lazyRoutes } from '../../daemon/lazy-routes.ts'
import { handle, route, type Context } from '../../shared/route.ts'

const one = route('GET /one', { id: 'one', summary: 'One' })
const two = route('GET /two', { id: 'two', summary: 'Two' })
const input = { params: {}, query: {}, body: undefined }
const context = {} as Context

t.test('handlers load with the first call, once for all routes', async t => {
  let loads = 0
  const [first, second] = lazyRoutes([one, two], async () => {
    loads++
    return [handle(two, () => 'second'), handle(one, () => 'first')]
  })
  t.equal(loads, 0)
  t.same(await Promise.all([first?.run(input, context), second?.run(input, context)]), ['first', 'second'])
  t.equal(await first?.run(input, context), 'first')
  t.equal(loads, 1)
})

t.test('a failed load is tried again, a missing handler is a bug that shows', async t => {
  let loads = 0
  const [first, second] = lazyRoutes([one, two], async () => {
    if (loads++ === 0) throw new Error('no disk')
    return [handle(one, () => 'first')]
  })
  await t.rejects(async () => first?.run(input, context), /no disk/)
  t.equal(await first?.run(input, context), 'first')
  await t.rejects(async () => second?.run(input, context), /nothing answers two/)
})
