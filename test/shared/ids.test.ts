import t from 'tap'
import { randomIds } from '../../shared/ids.ts'

t.test('each is of its form, and none comes twice', async t => {
  const ids = randomIds()
  t.match(ids.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.match(ids.short(8), /^[a-z0-9]{8}$/)
  t.equal(ids.short(0), '')
  t.match(ids.secret(32), /^[\w-]{43}$/)
  const many = Array.from({ length: 2_000 }, () => [ids.uuid(), ids.short(16), ids.secret(16)]).flat()
  t.equal(new Set(many).size, many.length)
})
