/** A stored policy that cannot be read as it was meant is none: it throws, and nothing leaves. */
import t from 'tap'
import { outboundOf } from '../../../../../control/core/kinds/sandbox/network/outbound.ts'
import type { Sealer } from '../../../../../control/core/secrets/secrets.ts'
import type { Resource } from '../../../../../control/core/store/store.ts'

const sealer: Sealer = { seal: text => text, open: text => text } as Sealer
const open = (network: unknown) =>
  outboundOf(sealer)({ workspace: 'w', spec: { held: true, network } } as unknown as Resource)?.open() as {
    bypass: string[]
  }

t.test('what this version writes', t => {
  t.match(open(undefined), { allowedDomains: [], mode: 'enforce' })
  const always = ['localhost', '127.0.0.1', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.169.254']
  t.same(open({ proxy: { bypass: ['a.example'] } })?.bypass, [...always, '.local', '.internal', 'a.example'])
  const routing = [{ destinations: ['a.example'], headers: { a: 'b' }, body: {}, secrets: { k: 'v' } }]
  const proxy = {
    allowedDomains: ['a.example'],
    routing,
    canaries: { bait: 'value' },
    canary: 'strict',
    mode: 'record',
  }
  const network = { allowedDomains: ['b.example'], firewall: { rulesets: ['proxy'] }, egress: { gateway: 'g' }, proxy }
  t.match(open(network), { allowedDomains: ['b.example', 'a.example'], canary: 'strict' })
  t.match(open({ allowedDomains: null, proxy: { bypass: null } }), { allowedDomains: [] }, 'as an earlier one may have')
  t.end()
})

t.test('and nothing else', t => {
  for (const network of [
    'text',
    [],
    null,
    7,
    { allowedDomains: 'a.example' },
    { allowedDomains: [7] },
    { deniedDomains: ['a.example'] },
    { proxy: 'text' },
    { proxy: { allowedDomain: ['a.example'] } },
    { proxy: { mode: 'enforced' } },
    { proxy: { canaries: ['x'] } },
    { proxy: { routing: [{ destination: ['a.example'] }] } },
  ])
    t.throws(() => open(network), { code: 'invalid_argument' }, JSON.stringify(network))
  t.end()
})
