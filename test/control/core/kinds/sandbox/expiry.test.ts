import t from 'tap'
import { expiryOf, retentionMs } from '../../../../../control/core/kinds/sandbox/expiry.ts'
import type { Resource } from '../../../../../control/core/store/store.ts'
import { instanceOf, record } from '../../../../support/records.ts'

const created = Date.UTC(2026, 0, 1)
const hour = 3_600_000

const sandbox = ({ runtime, ...spec }: { runtime?: object; lifecycle?: object | null }, internal: object = {}) =>
  record({
    name: 'a',
    spec: { enabled: true, region: 'local', runtime: { image: 'base', memory: 512, ...runtime }, ...spec },
    internal: internal as Resource['internal'],
    createdAt: created,
  })

t.test('no rule means never', async t => {
  t.equal(expiryOf(sandbox({}), []), undefined)
  t.equal(expiryOf(sandbox({ runtime: { ttl: '' }, lifecycle: null }), []), undefined)
})

t.test('each rule counts from what it should', async t => {
  const policy = (type: string, value: string) => ({
    lifecycle: { expirationPolicies: [{ action: 'delete', type, value }] },
  })
  t.equal(expiryOf(sandbox({ runtime: { ttl: '2h' } }), [])?.at, created + 2 * hour, 'ttl from creation')
  t.equal(expiryOf(sandbox({ runtime: { expires: '2026-01-01T03:00:00Z' } }), [])?.at, created + 3 * hour)
  t.equal(expiryOf(sandbox(policy('ttl-max-age', '1d')), [])?.at, created + 24 * hour)
  t.equal(expiryOf(sandbox(policy('date', '2026-01-02T00:00:00Z')), [])?.at, created + 24 * hour)
  t.equal(expiryOf(sandbox(policy('ttl-idle', '1h')), [])?.at, created + hour, 'never turned: from creation')
  const turned = { turnedAt: created + 5 * hour, lastUsedAt: created + 9 * hour }
  t.equal(
    expiryOf(sandbox(policy('ttl-idle', '1h'), turned), [])?.at,
    created + 6 * hour,
    'from the last resume or suspend, not the last use',
  )
  const idle = sandbox(policy('ttl-idle', '1h'), { turnedAt: created })
  t.equal(expiryOf(idle, [instanceOf(idle, turned)])?.at, created + 6 * hour, 'of the machine it has')
})

t.test('the first rule reached wins and is named', async t => {
  const both = sandbox({
    runtime: { ttl: '2h' },
    lifecycle: { expirationPolicies: [{ action: 'delete', type: 'ttl-max-age', value: '1h' }] },
  })
  t.same(expiryOf(both, []), { at: created + hour, rule: 'ttl-max-age 1h' })
})

t.test('a terminated record stays five minutes unless told otherwise', async t => {
  t.equal(retentionMs(sandbox({})), 5 * 60_000)
  t.equal(retentionMs(sandbox({ lifecycle: { terminatedRetention: '1h' } })), hour)
})
