/** Placeholders of schemas become what the library makes of the same calls. */
import t from 'tap'
import * as library from 'zod/mini'
import { deferred } from '../../../images/runtime/boot/deferred.ts'

const load = () => library as unknown as Record<string, (...args: unknown[]) => unknown>

t.test('a check of its own is one, and the method of that name another', async t => {
  const [string, check] = [deferred(load, 'string'), deferred(load, 'check')]
  const even = check(({ value, issues }: { value: string; issues: object[] }) => {
    if (value.length % 2 === 1) issues.push({ code: 'custom', message: 'odd', input: value })
  })
  const schema = string().check(even)
  t.equal(schema.parse('ab'), 'ab')
  t.match(schema.safeParse('abc'), { success: false, error: { issues: [{ message: 'odd' }] } })
  t.match(schema.safeParse(1), { success: false })
})
