import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { md5 } from '../../../daemon/native/md5.ts'

const MiB = 1024 * 1024
const expected = (chunks: readonly Buffer[]) => {
  const hash = createHash('md5')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

/** Feeds chunks as a writer does, and says how often it was asked to wait. */
const hashed = async (chunks: readonly Buffer[]): Promise<{ digest: string; waits: number }> => {
  const hash = md5()
  let waits = 0
  for (const chunk of chunks) {
    const full = hash.update(chunk)
    if (!full) continue
    waits++
    await full
  }
  return { digest: await hash.digest(), waits }
}

t.test('a stream has the MD5 that OpenSSL says, whatever its pieces', async t => {
  const cases: Record<string, number[]> = {
    nothing: [],
    'an empty piece': [0],
    'less than a block': [1, 63, 65, 1000],
    'whole blocks': [MiB, MiB],
    'many pieces over several blocks': Array.from({ length: 500 }, (_, index) => index * 37 + 1),
  }
  for (const [name, lengths] of Object.entries(cases)) {
    const chunks = lengths.map(length => randomBytes(length))
    t.equal((await hashed(chunks)).digest, expected(chunks), name)
  }
})

t.test('streams side by side do not mix', async t => {
  const all = Array.from({ length: 8 }, () => Array.from({ length: 40 }, () => randomBytes(200_000)))
  const digests = await Promise.all(all.map(hashed))
  t.same(
    digests.map(({ digest }) => digest),
    all.map(expected),
  )
})

t.test('a writer that is faster than the threads is made to wait', async t => {
  const chunks = Array.from({ length: 64 }, () => Buffer.alloc(MiB, 'x'))
  const { digest, waits } = await hashed(chunks)
  t.equal(digest, expected(chunks))
  t.ok(waits > 0)
})
