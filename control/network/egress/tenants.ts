/** Which sandbox a connection belongs to: said by the network it came through, never by what is in it. */
import type { Tenant } from './tenant.ts'

/** The two ends of a connection as the kernel knows them. */
export interface Peer {
  readonly remoteAddress?: string | undefined
  readonly localAddress?: string | undefined
}

export interface Tenants {
  /** The sandbox at the other end, or undefined: then nothing is answered. */
  of(peer: Peer): Tenant | undefined
  get(id: string): Tenant | undefined
  set(tenant: Tenant): void
  delete(id: string): void
  all(): Iterable<Tenant>
}

/** `sandboxOf` is the caller's: from addresses to the id of the sandbox whose slot they belong to. */
export const createTenants = (sandboxOf: (peer: Peer) => string | undefined): Tenants => {
  const tenants = new Map<string, Tenant>()
  return {
    of(peer) {
      const id = sandboxOf(peer)
      return id === undefined ? undefined : tenants.get(id)
    },
    get: id => tenants.get(id),
    set: tenant => void tenants.set(tenant.id, tenant),
    delete: id => void tenants.delete(id),
    all: () => tenants.values(),
  }
}
