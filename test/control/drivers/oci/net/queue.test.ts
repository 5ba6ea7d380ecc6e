import t from 'tap'
import { ring } from '../../../../../control/drivers/oci/net/numbers.ts'
import { queue } from '../../../../../control/drivers/oci/net/queue.ts'

t.test('numbers go round, skip those that are held, and end when all are', async t => {
  const numbers = ring(5, [1])
  t.same(numbers.take(2), [0, 2])
  numbers.free(0)
  t.same(numbers.take(2), [3, 4], 'the one just freed comes last')
  t.same(numbers.take(3), [0])
  t.same(numbers.take(1), [])
  numbers.free(1)
  t.same(numbers.take(9), [1])
})

t.test('who came first is served first; who gave up is not served', async t => {
  const waiting = queue<string>()
  const control = new AbortController()
  const first = waiting.wait(control.signal)
  const second = waiting.wait()
  const third = waiting.wait()
  t.equal(waiting.length, 3)
  control.abort(new Error('given up'))
  await t.rejects(first, { message: 'given up' })
  t.equal(waiting.give('a'), true)
  t.equal(await second, 'a')
  waiting.fail(new Error('closed'))
  await t.rejects(third, { message: 'closed' })
  t.equal(waiting.give('b'), false, 'nobody waits')
})
