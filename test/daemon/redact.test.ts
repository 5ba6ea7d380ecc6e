import t from 'tap'
import { redactQuery } from '../../daemon/redact.ts'

t.test('secret values are hidden whatever the case of the key, the rest stays as it was', async t => {
  t.equal(redactQuery('/a?x=1&Token=abc&y=%20'), '/a?x=1&Token=[REDACTED]&y=%20')
  t.equal(redactQuery('/a?API_KEY=&b'), '/a?API_KEY=[REDACTED]&b')
  t.equal(redactQuery('/a?%74oken=abc'), '/a?%74oken=[REDACTED]', 'an encoded key is the same key')
  t.equal(redactQuery('/a?%zz=1&jwt=2'), '/a?%zz=1&jwt=[REDACTED]')
  for (const target of ['/a', '/a?', '/a?tokens=1', '/a?x=token']) t.equal(redactQuery(target), target)
  t.equal(
    redactQuery('/a?svc_preview_token=1', key => key === 'svc_preview_token'),
    '/a?svc_preview_token=[REDACTED]',
  )
})
