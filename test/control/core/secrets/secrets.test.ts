import t from 'tap'
import { createSealer } from '../../../../control/core/secrets/secrets.ts'

t.test('what is sealed can be opened with the same key only', async t => {
  const sealer = createSealer('key')
  for (const text of ['', 'hush', 'ü\n', 'x'.repeat(100_000)]) {
    const sealed = sealer.seal(text)
    t.equal(sealer.open(sealed), text)
    t.equal(createSealer('key').open(sealed), text)
    t.not(sealer.seal(text), sealed, 'never twice the same')
    t.throws(() => createSealer('other').open(sealed))
  }
})

t.test('what was altered is refused', async t => {
  const sealer = createSealer('key')
  const sealed = sealer.seal('hush')
  const bytes = Buffer.from(sealed.slice(3), 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const altered = Buffer.from(bytes)
    altered[at] = (altered[at] as number) ^ 1
    t.throws(() => sealer.open(`v1.${altered.toString('base64url')}`), `byte ${at}`)
  }
  for (const text of ['', 'v1.', 'v2.abc', 'hush']) t.throws(() => sealer.open(text), text)
})
