/**
 * Networks of a workspace: VPC → egress gateway → egress IP. `default` is the one that everything is in, and always there; it connects
 * nothing. Members of another one reach each other. What is bound to a gateway leaves from one of its addresses.
 */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { stateTable } from '../transitions/state-table.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import { statuses, type Kind, type Spec } from '../records/kind.ts'
import { innerMetadata } from '../records/metadata.ts'
import type { Networks } from './sandbox/accept.ts'
import type { Resource, Store } from '../store/store.ts'

const admin = { scope: 'admin' } as const
const access = { list: admin, create: admin, get: admin, delete: admin }
const verbs = ['list', 'create', 'get', 'delete'] as const

const life = stateTable<'DEPLOYED' | 'FAILED' | 'DELETING', 'delete'>('DEPLOYED', {
  DEPLOYED: { delete: 'DELETING' },
  FAILED: { delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

export interface NetworkKindDeps {
  /** What gateways leave from; absent where there is nothing. */
  readonly egressAddresses?: { take(): Promise<string | undefined> } | undefined
  readonly regions: readonly string[]
}

const vpcKind = defineKind({
  kind: 'vpc',
  plural: 'vpcs',
  scope: 'vpcs',
  access,
  verbs,
  spec: s.object({}),
  implicit: ['default'],
  keptWhileReferenced: true,
  keptWhileFull: true,
  life,
  statuses,
  example: { create: { metadata: { name: 'partners', labels: { team: 'a' } }, spec: {} } },
})

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

const noAddresses = 'this host has no addresses for egress gateways (HUTCH_EGRESS_ADDRESSES)'

const gatewayKind = ({ egressAddresses, regions }: NetworkKindDeps) =>
  defineKind({
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
    keptWhileReferenced: true,
    keptWhileFull: true,
    life,
    statuses,
    initialStatus: () => (egressAddresses ? 'DEPLOYED' : 'FAILED'),
    createdMessage: () => (egressAddresses ? 'ready for addresses' : noAddresses),
    example: { create: { metadata: { name: 'office' }, spec: { region: 'local' } } },
    check({ region }) {
      const refuse = (reason: string) => fail('invalid_argument', { field: 'spec.region', reason })
      if (!region) throw refuse('is missing')
      if (!regions.includes(String(region))) throw refuse(`"${String(region)}" is none of ${regions.join(', ')}`)
    },
  })

const addressOf = (spec: Spec): string | undefined => spec['publicIp'] as string | undefined

/** Users named when an address cannot be deleted. */
const usersNamed = 3

/** Whatever is bound to the gateway may leave from this address. */
const needUnused = async ({ store }: { store: Store }, { workspace, parent, name, spec }: Resource): Promise<void> => {
  // One that was given no address is nobody's way out.
  if (addressOf(spec) === undefined) return
  const [vpc = '', gateway = ''] = parent.split('/')
  const users = await store.resources.usages({ kind: 'egressGateway', workspace, parent: vpc, name: gateway }, 1000)
  const named = users.slice(0, usersNamed).map(user => `${user.kind} "${user.name}"`)
  if (users.length > 0)
    throw fail('in_use', { kind: 'egressIp', name, users: named, more: users.length - named.length })
}

const ipKind = ({ egressAddresses }: NetworkKindDeps, parent: Kind) =>
  defineKind({
    kind: 'egressIp',
    plural: 'egressips',
    path: 'ips',
    param: 'ipName',
    parent,
    scope: 'egressips',
    access,
    verbs,
    listedAcross: { path: 'egressips', access: { scope: 'egressips:list', role: 'member' } },
    metadata: innerMetadata({ outer: ['vpcName', 'gatewayName'] }),
    spec: s.object({ ipFamily: s.nullish(s.enum(['IPv4', 'IPv6'])) }),
    answers: { spec: s.object({ ipFamily: s.enum(['IPv4', 'IPv6']), publicIp: s.optional(s.string()) }) },
    life,
    statuses,
    initialStatus: spec => (addressOf(spec) ? 'DEPLOYED' : 'FAILED'),
    createdMessage: spec =>
      addressOf(spec) ?? (egressAddresses ? 'no address of HUTCH_EGRESS_ADDRESSES is free' : noAddresses),
    example: { create: { metadata: { name: 'one' }, spec: { ipFamily: 'IPv4' } } },
    lostSpec: () => ({ ipFamily: 'IPv4' }),
    beforeRemoval: needUnused,
    gives: ({ spec, workspace, parent: inside }) => {
      const address = addressOf(spec)
      return address === undefined ? undefined : { to: `${workspace}/${inside}`, address }
    },
    async accept(spec) {
      const { ipFamily } = spec ?? {}
      if (ipFamily === 'IPv6')
        throw fail('invalid_argument', { field: 'spec.ipFamily', reason: 'IPv6 is closed on this host; take IPv4' })
      const publicIp = await egressAddresses?.take()
      return { ipFamily: 'IPv4', ...(publicIp === undefined ? {} : { publicIp }) }
    },
  })

const gatewayField = 'spec.network.egress.gateway'
/** The only network that gateways let anything out of. */
const outer = 'default'

/** What sandboxes ask of networks. */
export const networksIn = ({ store }: { store: Pick<Store, 'resources'> }): Networks => ({
  references: (vpc, gateway) => [
    ...(vpc ? [{ field: 'spec.vpc', kind: 'vpc', parent: '', name: vpc }] : []),
    ...(gateway ? [{ field: gatewayField, kind: 'egressGateway', parent: outer, name: gateway }] : []),
  ],
  async needGateway({ workspace, name, region }) {
    const no = (reason: string) =>
      fail('invalid_argument', { field: gatewayField, reason: `egress gateway "${name}" ${reason}` })
    const gateway = await store.resources.get({ kind: 'egressGateway', workspace, parent: outer, name })
    if (!gateway) throw no(`not found in VPC "${outer}"`)
    const { region: there } = gateway.spec as { region?: string }
    if (there !== region) throw no(`is in region "${there}", the sandbox is in "${region}"`)
    const inside = { kind: 'egressIp', workspace, parent: `${outer}/${name}`, sort: 'name:asc' as const, limit: 1 }
    const { items } = await store.resources.list({ ...inside, statuses: ['DEPLOYED'] })
    if (items.length === 0) throw no('has no address; give it one first')
  },
})

export const networkKinds = (deps: NetworkKindDeps): readonly Kind[] => {
  const gateway = gatewayKind(deps)
  return [vpcKind, gateway, ipKind(deps, gateway)]
}
