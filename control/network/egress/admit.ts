/**
 * The one place that says whether a connection may be made, and to which addresses: policy, names, pins and the fence, in this
 * order. Whoever connects asks here first.
 */
import { isError } from '../../../shared/errors.ts'
import type { HostVerdict } from '../../../shared/policy/decide.ts'
import { isAddress } from '../../../shared/policy/host.ts'
import type { Answer } from './dns/name-table.ts'
import type { Resolver } from './dns/resolver.ts'
import type { Fence } from './fence.ts'
import type { Tenant } from './tenant.ts'

/** Why a connection is not made; the first four are the policy's and the fence's, the rest is the world's. */
export type Refusal =
  | 'forbidden'
  | 'not_allowed'
  | 'closed_address'
  | 'destination_mismatch'
  | 'too_many_names'
  | 'unresolved'

export interface Admitted {
  readonly ok: true
  readonly verdict: HostVerdict
  /** Open addresses, in the order to be tried. */
  readonly addresses: readonly string[]
}

export interface Refused {
  readonly ok: false
  readonly reason: Refusal
  readonly rule: string | undefined
}

export interface Wanted {
  /** Canonical name or address. */
  readonly host: string
  /** Where the sandbox itself wants to connect under that name, when it has chosen an address. */
  readonly address?: string | undefined
  /** The name must be true also where the policy does not ask. */
  readonly named?: boolean
}

const refused = (reason: Refusal, rule?: string): Refused => ({ ok: false, reason, rule })

const find = async (resolver: Resolver, tenant: Tenant, host: string): Promise<Answer | Refused> => {
  try {
    return await resolver.resolve(tenant, host)
  } catch (error) {
    if (isError(error, 'busy')) return refused('too_many_names')
    if (isError(error, 'unavailable')) return refused('unresolved')
    throw error
  }
}

const addressesFor = async (
  resolver: Resolver,
  tenant: Tenant,
  { host, address }: Wanted,
  nameMatters: boolean,
): Promise<readonly string[] | Refused> => {
  const neighbour = tenant.neighbour(host)
  if (neighbour && address !== undefined && address !== neighbour.address) return refused('destination_mismatch')
  // Never pinned: the address is somebody else's as soon as this one is gone.
  if (neighbour) return [neighbour.address]
  // The answers that the sandbox had from our resolver: no need to ask again.
  if (address !== undefined && tenant.names.isPinned(host, address)) return [address]
  const asked = address !== undefined && !nameMatters ? address : host
  const answer = await find(resolver, tenant, asked)
  if ('ok' in answer) return answer
  if (answer.kind === 'closed') return refused('closed_address')
  if (answer.kind === 'forbidden') return refused('forbidden', answer.name)
  if (answer.kind !== 'found') return refused('unresolved')
  if (address === undefined || address === asked) return answer.addresses
  return answer.addresses.includes(address) ? [address] : refused('destination_mismatch')
}

/** Judges one wish. In the modes shadow and record the policy refuses nothing; the fence and the pins do. */
export const admit = async (resolver: Resolver, tenant: Tenant, wanted: Wanted): Promise<Admitted | Refused> => {
  const verdict = tenant.policy.forHost(wanted.host)
  if (!verdict.allowed && tenant.policy.source.mode === 'enforce')
    return refused(verdict.reason === 'forbidden' ? 'forbidden' : 'not_allowed', verdict.rule)
  // Without lists and rules a name decides nothing, so it need not be true.
  const nameMatters = wanted.named === true || tenant.policy.restricts || verdict.needsRequest || isAddress(wanted.host)
  const addresses = await addressesFor(resolver, tenant, wanted, nameMatters)
  return 'ok' in addresses ? addresses : { ok: true, verdict, addresses }
}

/**
 * Judges an address before it is known under which name: it must be open, and allowed itself or given out for some name. Undefined
 * when it may be tried; the name is judged when it is seen.
 */
export const admitAddress = (fence: Fence, tenant: Tenant, address: string): Refused | undefined => {
  if (!fence.isOpen(address) && !tenant.neighbour(address)) return refused('closed_address')
  const verdict = tenant.policy.forHost(address)
  if (verdict.allowed || tenant.policy.source.mode !== 'enforce') return undefined
  if (verdict.reason === 'forbidden') return refused('forbidden', verdict.rule)
  return tenant.names.namesOf(address).length > 0 ? undefined : refused('not_allowed')
}
