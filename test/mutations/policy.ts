/** Defences of outbound policies. */
import type { Defence } from './defence.ts'

const attempts = 'test/control/egress/attempts.test.ts'
const layers = 'test/control/egress/layers.test.ts'
const outbound = 'test/control/outbound/outbound.test.ts'

export const policyDefences: readonly Defence[] = [
  {
    name: 'metadata services are open to who opens their network',
    file: 'control/egress/fence.ts',
    text: '      !never.check(address) &&\n',
    instead: '',
    test: layers,
  },
  {
    name: 'private networks are open',
    file: 'control/egress/fence.ts',
    text: '!(closed.check(address) || options.ownAddresses().has(address))',
    instead: '!options.ownAddresses().has(address)',
    test: attempts,
  },
  {
    name: 'addresses of the host are open',
    file: 'control/egress/fence.ts',
    text: ' || options.ownAddresses().has(address))',
    instead: ')',
    test: attempts,
  },
  {
    name: 'what is not allowed passes',
    file: 'control/egress/admit.ts',
    text: "  if (!verdict.allowed && tenant.policy.source.mode === 'enforce')\n",
    instead: '  if (false)\n',
    test: layers,
  },
  {
    name: 'an allowed name leads to any address',
    file: 'control/egress/admit.ts',
    text: "answer.addresses.includes(address) ? [address] : refused('destination_mismatch')",
    instead: '[address]',
    test: layers,
  },
  {
    name: 'an address need not have been given out',
    file: 'control/egress/admit.ts',
    text: "tenant.names.namesOf(address).length > 0 ? undefined : refused('not_allowed')",
    instead: 'undefined',
    test: layers,
  },
  {
    name: 'the request may be for another host than the connection',
    file: 'control/egress/http/judge.ts',
    text: 'origin.host === undefined || origin.host === authority.host',
    instead: 'true',
    test: layers,
  },
  {
    name: 'both lengths in one request',
    file: 'control/egress/http/request.ts',
    text: "    if (lengths.length > 0) return 'both Content-Length and Transfer-Encoding'\n",
    instead: '',
    test: layers,
  },
  {
    name: 'two lengths in one request',
    file: 'control/egress/http/request.ts',
    text: 'if (lengths.length > 1 || !/^',
    instead: 'if (!/^',
    test: layers,
  },
  {
    name: 'an open connection survives the policy that forbids it',
    file: 'control/egress/tenant.ts',
    text: '(verdict.needsRequest && !connection.read)) connection.end()',
    instead: '(verdict.needsRequest && !connection.read)) void connection',
    test: 'test/e2e/outbound.test.ts',
  },
  {
    name: 'a policy that cannot be read leaves the one before',
    file: 'control/outbound/outbound.ts',
    text: '    shut(context, uid)\n  }\n}',
    instead: '  }\n}',
    test: outbound,
  },
  {
    name: 'a machine that stops keeps its connections',
    file: 'control/outbound/outbound.ts',
    text: '  if (!isUp(instance)) egress.disconnect(instance.owner.uid)',
    instead: '',
    test: outbound,
  },
  {
    name: 'a machine that stops keeps its way out',
    file: 'control/outbound/outbound.ts',
    text: "if (status === 'stopping') byMachine.delete(id)\n      else ",
    instead: '',
    test: outbound,
  },
  {
    name: 'a held machine gets a tunnel',
    file: 'control/gateway/no-tunnel.ts',
    text: "method === 'PUT' && wanted.test(target) && holds(owner.uid)",
    instead: 'false && holds(owner.uid) && wanted.test(method + target)',
    test: 'test/e2e/outbound.test.ts',
  },
  {
    name: 'a machine that cannot be held starts all the same',
    file: 'control/drivers/oci/create.ts',
    text: '  await outbound.hold(slot, spec.id)\n',
    instead: '',
    test: 'test/e2e/outbound.test.ts',
  },
]
