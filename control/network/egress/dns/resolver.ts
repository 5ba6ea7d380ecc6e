/**
 * The host's resolver for sandboxes: it decides which names are looked up at all, asks the host's own DNS servers for them, and pins
 * what it answers. Queries are made anew from the canonical name; nothing of what a sandbox sent is forwarded.
 */
import type { DecodedPacket } from 'dns-packet'
import { fail, isError } from '../../../../shared/errors.ts'
import { canonicalHost, isAddress, isIpv4 } from '../../../../shared/policy/host.ts'
import type { Fence } from '../fence.ts'
import type { Tenant } from '../tenant.ts'
import type { Answer } from './name-table.ts'
import { askServer, type Server } from './query.ts'

export interface ResolverDeps {
  readonly fence: Fence
  /** The host's DNS servers, asked in order. */
  readonly servers: readonly Server[]
}

export interface Resolver {
  /**
   * Addresses of a canonical name for this sandbox. The policy has been asked already.
   * Throws `busy` when the sandbox looks up too many new names, `unavailable` when no server answers.
   */
  resolve(tenant: Tenant, name: string): Promise<Answer>
}

const minTtlMs = 5_000
const maxTtlMs = 60 * 60_000
const absentTtlMs = 30_000
const maxAddresses = 16
const maxAliases = 8

/** Names that mean something on this machine or this network only. */
const local = /(?:^|\.)(?:localhost|local|internal|localdomain|home\.arpa|onion|invalid)$/

interface Found {
  readonly aliases: string[]
  readonly addresses: string[]
  readonly ttlMs: number
}

const clampTtl = (seconds: number): number => Math.min(maxTtlMs, Math.max(minTtlMs, seconds * 1000))

/** Follows the chain from `name` through the answer's own records; what does not hang together is left out. */
const readAnswer = (message: DecodedPacket, name: string): Found => {
  const aliases: string[] = []
  let at = name
  let ttl = Number.POSITIVE_INFINITY
  const records = message.answers ?? []
  const owned = (owner: string) => records.filter(record => canonicalHost(record.name) === owner)
  for (let step = 0; step < maxAliases; step++) {
    const alias = owned(at).find(record => record.type === 'CNAME')
    if (alias?.type !== 'CNAME') break
    const target = canonicalHost(alias.data)
    if (target === undefined || target === name || aliases.includes(target)) break
    ttl = Math.min(ttl, alias.ttl ?? 0)
    aliases.push(target)
    at = target
  }
  const addresses: string[] = []
  for (const record of owned(at))
    if (record.type === 'A' && isIpv4(record.data) && addresses.length < maxAddresses) {
      ttl = Math.min(ttl, record.ttl ?? 0)
      addresses.push(record.data)
    }
  return { aliases, addresses, ttlMs: clampTtl(Number.isFinite(ttl) ? ttl : 0) }
}

const judge = (tenant: Tenant, fence: Fence, message: DecodedPacket, name: string): Answer => {
  const { aliases, addresses, ttlMs } = readAnswer(message, name)
  // The alias is a host that is forbidden as a whole: its name is just another way to say it.
  for (const alias of aliases) {
    const { allowed, reason } = tenant.policy.forHost(alias)
    if (!allowed && reason === 'forbidden') return { kind: 'forbidden', name: alias, ttlMs }
  }
  const { rcode } = message as { rcode?: string }
  if (addresses.length === 0) return { kind: rcode === 'NXDOMAIN' ? 'absent' : 'empty', ttlMs: absentTtlMs }
  const open = addresses.filter(fence.isOpen)
  return open.length > 0 ? { kind: 'found', addresses: open, ttlMs } : { kind: 'closed', ttlMs }
}

const askAll = async (servers: readonly Server[], name: string): Promise<DecodedPacket> => {
  let last: unknown = fail('unavailable', { what: 'no DNS server is configured', next: 'add one to /etc/resolv.conf' })
  for (const server of servers)
    try {
      const message = await askServer(server, name)
      const { rcode } = message as { rcode?: string }
      if (rcode === 'NOERROR' || rcode === 'NXDOMAIN') return message
      last = fail('unavailable', { what: `DNS server ${server.host} answered ${rcode}`, next: 'try again' })
    } catch (error) {
      if (!isError(error, 'unavailable')) throw error
      last = error
    }
  throw last
}

export const createResolver = ({ fence, servers }: ResolverDeps): Resolver => {
  const underWay = new WeakMap<Tenant, Map<string, Promise<Answer>>>()
  const lookUp = async (tenant: Tenant, name: string): Promise<Answer> => {
    const answer = judge(tenant, fence, await askAll(servers, name), name)
    tenant.names.keep(name, answer)
    return answer
  }
  const shared = (tenant: Tenant, name: string): Promise<Answer> => {
    const mine = underWay.get(tenant) ?? new Map<string, Promise<Answer>>()
    underWay.set(tenant, mine)
    const running = mine.get(name)
    if (running) return running
    // Who asks with others for one name has it looked up once.
    if (!tenant.budget.take(name))
      throw fail('busy', { what: 'too many new names were looked up', next: 'wait a minute' })
    const started = lookUp(tenant, name).finally(() => mine.delete(name))
    mine.set(name, started)
    return started
  }
  return {
    async resolve(tenant, name) {
      const neighbour = tenant.neighbour(name)
      if (neighbour) return { kind: 'found', addresses: [neighbour.address], ttlMs: minTtlMs }
      if (isAddress(name))
        return fence.isOpen(name) ? { kind: 'found', addresses: [name], ttlMs: 0 } : { kind: 'closed', ttlMs: 0 }
      if (local.test(name)) return { kind: 'absent', ttlMs: absentTtlMs }
      const known = tenant.names.fresh(name)
      if (known) return known
      return shared(tenant, name)
    },
  }
}
