import t from 'tap'
import { randomBytes } from '../../daemon/native/sys/sys.ts'
import { drawnAtOnce, idsFrom, randomIds } from '../../shared/ids.ts'

const sources = {
  'of Node': randomIds(),
  'of the kernel': idsFrom(randomBytes),
  'drawn at once': idsFrom(drawnAtOnce(randomBytes)),
}

for (const [name, ids] of Object.entries(sources))
  t.test(`randomness ${name} gives identifiers of the right form`, async t => {
    const uuids = Array.from({ length: 1_000 }, () => ids.uuid())
    t.equal(new Set(uuids).size, 1_000)
    t.notOk(uuids.find(uuid => !/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid)))
    for (const length of [0, 1, 8, 256]) t.match(ids.short(length), new RegExp(`^[a-z0-9]{${length}}$`))
    t.equal(new Set(ids.short(256)).size > 25, true, 'of the whole alphabet')
    t.equal(Buffer.from(ids.secret(32), 'base64url').length, 32)
    t.not(ids.secret(32), ids.secret(32))
  })

t.test('bytes that would favour some characters are not used', async t => {
  const given = [Buffer.from([252, 255, 0]), Buffer.from([35, 251])]
  const ids = idsFrom(() => given.shift() ?? Buffer.alloc(0))
  t.equal(ids.short(3), 'a99')
})

t.test('more than the kernel gives at once is refused', async t => {
  t.throws(() => randomBytes(257), { code: 'EINVAL' })
})

t.test('no byte of a large draw is given twice', async t => {
  const sizes: number[] = []
  let next = 0
  const counting = (count: number) => {
    sizes.push(count)
    return Buffer.from(Array.from({ length: count }, () => next++ % 256))
  }
  const draw = drawnAtOnce(counting, 8)
  t.same(
    [...draw(3), ...draw(5), ...draw(8)],
    Array.from({ length: 16 }, (_, index) => index),
  )
  t.same([...draw(6), ...draw(6)], [16, 17, 18, 19, 20, 21, 24, 25, 26, 27, 28, 29], 'what is too little is left')
  t.equal(draw(20).length, 20, 'more than that is drawn by itself')
  t.same(sizes, [8, 8, 8, 8, 20])
})
