/** Layers of the engine, each by itself: from outside one is not missed while the next one holds. */
import t from 'tap'
import { admit, admitAddress } from '../../../../control/network/egress/admit.ts'
import { createFence } from '../../../../control/network/egress/fence.ts'
import { judge } from '../../../../control/network/egress/http/judge.ts'
import { headerNames } from '../../../../control/network/egress/http/names.ts'
import { readRequest } from '../../../../control/network/egress/http/request.ts'
import { createTenant } from '../../../../control/network/egress/tenant.ts'
import { wireNames } from '../../../../shared/wire-names.ts'

const names = headerNames(wireNames([{ header: 'Svc', short: 'svc', image: 'svc' }]))
const tenantWith = (policy: object) => createTenant('a', policy, { now: () => 0, limits: { events: 1 } })
const resolver = {
  resolve: async () => ({ kind: 'found' as const, addresses: ['203.0.113.10'], ttlMs: 1_000 }),
} as unknown as Parameters<typeof admit>[0]

t.test('what an operator opens is open, but for metadata services and machines of the box', t => {
  const fence = createFence({
    allowNetworks: ['169.254.0.0/16', '100.64.0.0/10', '10.0.0.0/8', '198.51.100.7'],
    closedNetworks: ['10.250.0.0/16'],
    ownAddresses: () => new Set(['198.51.100.7', '198.51.100.8']),
  })
  for (const address of ['169.254.1.1', '100.64.0.9', '10.0.0.5', '198.51.100.7', '203.0.113.10'])
    t.ok(fence.isOpen(address), address)
  const metadata = ['169.254.169.254', '169.254.170.2', '100.100.100.200']
  for (const address of [...metadata, '10.250.0.9', '192.168.0.1', '198.51.100.8', '::1'])
    t.notOk(fence.isOpen(address), address)
  const wrong = { allowNetworks: ['10.0.0.0/33'], closedNetworks: [], ownAddresses: () => new Set<string>() }
  t.throws(() => createFence(wrong), { code: 'invalid_argument', message: /allowNetworks/ })
  t.end()
})

t.test('a name is where it was said to be', async t => {
  const tenant = tenantWith({ allowedDomains: ['open.example'] })
  const go = (host: string, address?: string) => admit(resolver, tenant, { host, address })
  t.match(await go('open.example', '203.0.113.10'), { ok: true, addresses: ['203.0.113.10'] })
  t.match(await go('open.example', '203.0.113.66'), { ok: false, reason: 'destination_mismatch' })
  t.match(await go('other.example', '203.0.113.10'), { ok: false, reason: 'not_allowed' })
  tenant.pool.close()
})

t.test('an address is tried when it is allowed, or was given out for some name', t => {
  const tenant = tenantWith({ allowedDomains: ['open.example', '203.0.113.9'] })
  const fence = createFence({ allowNetworks: [], closedNetworks: [], ownAddresses: () => new Set() })
  t.equal(admitAddress(fence, tenant, '203.0.113.9'), undefined)
  t.match(admitAddress(fence, tenant, '203.0.113.10'), { reason: 'not_allowed' })
  tenant.names.keep('open.example', { kind: 'found', addresses: ['203.0.113.10'], ttlMs: 1_000 })
  t.equal(admitAddress(fence, tenant, '203.0.113.10'), undefined)
  t.match(admitAddress(fence, tenant, '10.0.0.1'), { reason: 'closed_address' })
  tenant.pool.close()
  t.end()
})

t.test('a request has one length', t => {
  const read = (...lines: string[]) => readRequest(['Host', 'a.example', ...lines], names)
  const chunked = ['Transfer-Encoding', 'chunked']
  t.match(read('Content-Length', '5'), { length: 5 })
  t.match(read(...chunked), { length: undefined, host: 'a.example' })
  t.match(read('Content-Length', '5', ...chunked), /both/)
  t.match(read('Content-Length', '5', 'Content-Length', '5'), /Content-Length/)
  t.match(read(...chunked, ...chunked), /other than chunked/)
  t.match(read('Transfer-Encoding', 'xchunked'), /other than chunked/)
  t.end()
})

t.test('a request is for the host of its connection, also where both are allowed', t => {
  const tenant = tenantWith({ allowedDomains: ['open.example', 'other.example'] })
  const engine = { requestId: () => 'r', names } as unknown as Parameters<typeof judge>[0]
  const origin = { tenant, scheme: 'https', host: 'open.example', port: 443 } as Parameters<typeof judge>[1]
  const asked = (host: string) => {
    const lines = readRequest(['Host', host], names)
    if (typeof lines === 'string') throw new Error(lines)
    return judge(engine, origin, { method: 'GET', target: '/', lines, protocol: 'https' })
  }
  t.match(asked('open.example'), { ok: true, host: 'open.example' })
  t.match(asked('other.example'), { ok: false, reason: 'host_mismatch' })
  t.match(asked('open.example:8443'), { ok: true }, 'a port is no other host')
  tenant.pool.close()
  t.end()
})
