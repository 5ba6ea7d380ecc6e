/** Whether UDP of a sandbox may go somewhere: the fence first, then the policy. */
import type { Place } from '../../../base/relay/datagram-destination.ts'
import type { Engine } from '../engine.ts'
import type { Tenant } from '../tenant.ts'

export interface Judged {
  readonly ok: boolean
  /** The policy's own word, also in modes in which it stops nothing. */
  readonly allowed: boolean
  readonly reason: string
  readonly rule?: string | undefined
}

const closed = (reason: string): Judged => ({ ok: false, allowed: false, reason })

/**
 * Neighbours are reached by TCP alone: the fence is closed to them. Where the box reaches the internet only by an HTTP proxy, UDP has no
 * way; what the operator has opened, and what leaves from an address of its own, goes without that proxy.
 */
export const mayGo = (
  { fence, proxy }: Pick<Engine, 'fence' | 'proxy'>,
  { policy, sourceAddress }: Tenant,
  { address, port }: Place,
): Judged => {
  if (!fence.isOpen(address) || port === 0) return closed('closed_address')
  if (proxy && sourceAddress === undefined && !fence.isPrivate(address)) return closed('unreachable')
  const { allowed, reason, rule } = policy.forDatagrams(address, port)
  return { ok: allowed || policy.source.mode !== 'enforce', allowed, reason, rule }
}
