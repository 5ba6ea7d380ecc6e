import t from 'tap'
import { expiryOf, retentionMs } from '../../../control/sandbox/expiry.ts'
import type { Resource } from '../../../control/store/store.ts'

const created = Date.UTC(2026, 0, 1)
const hour = 3_600_000

const row = (spec: object, internal: object = {}): Resource => ({
  uid: 'u',
  kind: 'sandbox',
  workspace: 'default',
  parent: '',
  name: 'a',
  version: 1,
  status: 'DEPLOYED',
  metadata: { createdBy: 'me', updatedBy: 'me' },
  spec: spec as Resource['spec'],
  internal: internal as Resource['internal'],
  createdAt: created,
  updatedAt: created,
})

t.test('no rule means never', async t => {
  t.equal(expiryOf(row({})), undefined)
  t.equal(expiryOf(row({ runtime: { ttl: '' }, lifecycle: null })), undefined)
})

t.test('each rule counts from what it should', async t => {
  const policy = (type: string, value: string) => ({
    lifecycle: { expirationPolicies: [{ action: 'delete', type, value }] },
  })
  t.equal(expiryOf(row({ runtime: { ttl: '2h' } }))?.at, created + 2 * hour, 'ttl from creation')
  t.equal(expiryOf(row({ runtime: { expires: '2026-01-01T03:00:00Z' } }))?.at, created + 3 * hour)
  t.equal(expiryOf(row(policy('ttl-max-age', '1d')))?.at, created + 24 * hour)
  t.equal(expiryOf(row(policy('date', '2026-01-02T00:00:00Z')))?.at, created + 24 * hour)
  t.equal(expiryOf(row(policy('ttl-idle', '1h')))?.at, created + hour, 'never turned: from creation')
  const turned = { turnedAt: created + 5 * hour, lastUsedAt: created + 9 * hour }
  t.equal(
    expiryOf(row(policy('ttl-idle', '1h'), turned))?.at,
    created + 6 * hour,
    'from the last resume or suspend, not the last use',
  )
})

t.test('the first rule reached wins and is named', async t => {
  const both = row({
    runtime: { ttl: '2h' },
    lifecycle: { expirationPolicies: [{ action: 'delete', type: 'ttl-max-age', value: '1h' }] },
  })
  t.same(expiryOf(both), { at: created + hour, rule: 'ttl-max-age 1h' })
})

t.test('a terminated record stays five minutes unless told otherwise', async t => {
  t.equal(retentionMs(row({})), 5 * 60_000)
  t.equal(retentionMs(row({ lifecycle: { terminatedRetention: '1h' } })), hour)
})
