/** Decides what a sandbox is told about a name. */
import { isError } from '../../../../shared/errors.ts'
import { tellCanariesIn } from '../events/named-canaries.ts'
import type { Tenant } from '../tenant.ts'
import type { Reply } from './reply.ts'
import type { Resolver } from './resolver.ts'

const blocked = 15
const prohibited = 18

/**
 * Types that programs ask beside A get "none of those": they go on with IPv4. Without HTTPS records nobody has a key to hide the name in
 * a TLS hello. The rest (TXT, SRV, MX, PTR, ANY …) is refused: no package manager needs it, and a tunnel does.
 */
const emptyTypes: ReadonlySet<string> = new Set(['AAAA', 'HTTPS', 'SVCB', 'UNKNOWN_64', 'UNKNOWN_65', 'CNAME'])

/** What is told about a canonical name; every decision that is not remembered is an event. */
export const judgeName = async (resolver: Resolver, tenant: Tenant, name: string, type: string): Promise<Reply> => {
  const verdict = tenant.policy.forHost(name)
  const enforced = tenant.policy.source.mode === 'enforce'
  const tell = (outcome: 'allowed' | 'blocked' | 'would_block', reason: string, rule = verdict.rule) =>
    tenant.events.add({ kind: 'name', verdict: outcome, reason, rule, host: name, protocol: 'dns', detail: type })
  if (!verdict.allowed) tell(enforced ? 'blocked' : 'would_block', verdict.reason)
  if (!verdict.allowed && enforced) return { rcode: 'NXDOMAIN', extended: blocked }
  if (emptyTypes.has(type)) return { rcode: 'NOERROR' }
  if (type !== 'A') {
    tell('blocked', 'record_type')
    return { rcode: 'REFUSED', extended: prohibited }
  }
  const remembered = tenant.names.fresh(name) !== undefined
  try {
    const answer = await resolver.resolve(tenant, name)
    if (!remembered) tellCanariesIn(tenant, name, { protocol: 'dns' })
    if (answer.kind === 'found') {
      if (!remembered && verdict.allowed) tell('allowed', verdict.reason)
      return { rcode: 'NOERROR', addresses: answer.addresses, ttlMs: answer.ttlMs }
    }
    if (answer.kind === 'absent') return { rcode: 'NXDOMAIN' }
    if (answer.kind === 'empty') return { rcode: 'NOERROR' }
    tell('blocked', answer.kind === 'closed' ? 'closed_address' : 'forbidden')
    return { rcode: 'NXDOMAIN', extended: blocked }
  } catch (error) {
    if (isError(error, 'busy')) {
      tell('blocked', 'too_many_names')
      return { rcode: 'REFUSED', extended: prohibited }
    }
    if (isError(error, 'unavailable')) return { rcode: 'SERVFAIL' }
    throw error
  }
}
