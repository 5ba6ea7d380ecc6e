/** Networks of a workspace: VPC → egress gateway → egress IP. `default` is the one that everything is in, and always there. */
import { fail } from '../../shared/errors.ts'
import { s, text } from '../../shared/schema.ts'
import { stateTable } from '../reconcile/state-table.ts'
import type { Action } from '../resources/action.ts'
import { defineKind } from '../resources/define-kind.ts'
import { statuses } from '../resources/kind.ts'
import { innerMetadata } from '../resources/metadata.ts'
import { unserved } from './unserved.ts'

const admin = { scope: 'admin' } as const
const access = { list: admin, create: admin, get: admin, delete: admin }
const verbs = ['list', 'create', 'get', 'delete'] as const

export const vpcKind = defineKind({
  kind: 'vpc',
  plural: 'vpcs',
  scope: 'vpcs',
  access,
  verbs,
  spec: s.object({}),
  implicit: ['default'],
  life: stateTable('DEPLOYED', {
    DEPLOYED: { delete: 'DELETING' },
    FAILED: { delete: 'DELETING' },
    DELETING: { delete: 'DELETING' },
  }),
  statuses,
  initialStatus: () => 'FAILED',
  createdMessage: () => 'this host has one network only',
  example: { create: { metadata: { name: 'partners', labels: { team: 'a' } }, spec: {} } },
})

const unserving = unserved('no egress gateway runs on this host')

/** Gateways of a workspace beyond these are left out of the map. */
const mostGateways = 1000

const usage: Action = {
  name: 'usage',
  summary: 'Names the sandboxes that use each egress gateway',
  method: 'GET',
  path: 'egressgateways/usage',
  on: 'workspace',
  access: { scope: ['egressgateways:list', 'sandboxes:list'], role: 'member' },
  returns: s.record(s.string(), s.array(s.string())),
  async run({ store, kind }, { actor: { workspace } }) {
    const asked = { kind: kind.kind, workspace, sort: 'name:asc' as const, limit: mostGateways }
    const { items } = await store.resources.list(asked)
    const users = await Promise.all(items.map(gateway => store.resources.usages(gateway, mostGateways)))
    return Object.fromEntries(items.map(({ name }, at) => [name, users[at]?.map(user => user.name) ?? []]))
  },
}

export const egressGatewayKind = defineKind({
  ...unserving,
  kind: 'egressGateway',
  plural: 'egressgateways',
  param: 'gatewayName',
  parent: vpcKind,
  scope: 'egressgateways',
  access,
  verbs,
  actions: [usage],
  listedAcross: { path: 'egressgateways', access: { scope: 'egressgateways:list', role: 'member' } },
  metadata: innerMetadata({ outer: ['vpcName'] }),
  spec: s.object({ region: s.nullish(text(63)) }),
  example: { create: { metadata: { name: 'office' }, spec: { region: 'local' } } },
  check(spec) {
    if (!spec['region']) throw fail('invalid_argument', { field: 'spec.region', reason: 'is missing' })
  },
})

export const egressIpKind = defineKind({
  ...unserving,
  kind: 'egressIp',
  plural: 'egressips',
  path: 'ips',
  param: 'ipName',
  parent: egressGatewayKind,
  scope: 'egressips',
  access,
  verbs,
  listedAcross: { path: 'egressips', access: { scope: 'egressips:list', role: 'member' } },
  metadata: innerMetadata({ outer: ['vpcName', 'gatewayName'] }),
  spec: s.object({ ipFamily: s.nullish(s.enum(['IPv4', 'IPv6'])) }),
  fallback: { ipFamily: 'IPv4' },
  example: { create: { metadata: { name: 'one' }, spec: { ipFamily: 'IPv4' } } },
})
