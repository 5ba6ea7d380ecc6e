/**
 * The engine of outbound traffic: it decides for each sandbox what may leave, carries what may, and says what it did.
 *
 *     sandbox ── CONNECT, http://… ──► proxy        ┐
 *     sandbox ── redirected by the network ──► transparent ├─► policy ─► names and pins ─► fence ─► internet
 *     sandbox ── DNS ──► resolver                   ┘
 *
 * Which sandbox a connection belongs to is told by `sandboxOf` from the connection's addresses, and by nothing that is sent over it.
 * A connection of no sandbox, or of one without a policy, is closed without a word. No policy is kept on disk: whoever uses the engine gives it the
 * policies again after a start, and until then nothing passes.
 */
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { Detail } from '../../../shared/policy/learn.ts'
import type { WireNames } from '../../../shared/wire-names.ts'
import type { ProcessAt } from './askers.ts'
import type { LastNet } from '../../base/last-net.ts'
import type { AuthorityKeys } from './ca/authority.ts'
import type { Server } from './dns/query.ts'
import type { EgressEvent, Page } from './events/events.ts'
import type { Kept } from './events/kept.ts'
import type { HttpProxy } from './http/through-proxy.ts'
import type { Neighbours } from './neighbours.ts'
import type { PackageOptions } from './packages/cache.ts'
import type { Peer } from './tenants.ts'

export interface EgressPorts {
  readonly proxy: number
  readonly transparent: number
  readonly dns: number
  /** Where UDP to anywhere ends. */
  readonly datagrams: number
}

export interface EgressOptions {
  /** Address that sandboxes reach the engine at. */
  readonly host: string
  /** Ports; 0 is any. */
  readonly ports: EgressPorts
  readonly authority: AuthorityKeys
  /** PEM text of authorities that servers may have beside the system's. */
  readonly extraCa?: string | undefined
  /** Private networks that sandboxes may reach, as CIDR. */
  readonly allowNetworks: readonly string[]
  /** Closed even where `allowNetworks` has them: the networks of other machines. */
  readonly closedNetworks?: readonly string[]
  readonly dnsServers: readonly Server[]
  /** A proxy that connections to the internet are made through. */
  readonly proxy?: HttpProxy | undefined
  /** Packages that are kept for several sandboxes; none unless given. */
  readonly packages?: PackageOptions | undefined
  /** Events kept for each sandbox. */
  readonly events?: number
  /** Connections of one sandbox at a time. */
  readonly connections?: number
  /** What moves bytes that are not read: the kernel, or Node's streams where the addon cannot be used. */
  readonly relay?: 'kernel' | 'streams'
}

export interface EgressDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly wireNames: WireNames
  /** Ends the connection of a sandbox that an exception was thrown for; one of its own unless given, which catches listeners' alone. */
  readonly lastNet?: Pick<LastNet, 'guard'> | undefined
  /** The id of the sandbox behind a connection, or undefined. */
  readonly sandboxOf: (peer: Peer) => string | undefined
  /** Addresses of this host, which no sandbox reaches through its proxy. */
  readonly ownAddresses: () => ReadonlySet<string>
  /** Which process is at the sandbox's end of a connection; nobody looks unless given. */
  readonly processAt?: ProcessAt | undefined
  /** Where a sandbox's decisions are kept; nowhere unless given. */
  readonly keeper?: ((sandbox: string) => Kept) | undefined
  /** Who reaches whom; nobody unless given. */
  readonly neighbours?: Neighbours
}

export interface SandboxOptions {
  /** Address that its connections leave from. */
  readonly sourceAddress?: string | undefined
}

export interface Egress {
  readonly ports: EgressPorts
  /** PEM: the authority that sandboxes must trust for what is opened. */
  readonly caCertificate: string
  /**
   * Sets or replaces the policy of a sandbox: from then on it holds, and connections it would not let begin end.
   * Throws `invalid_argument` naming the wrong field; then the old policy stays.
   */
  setPolicy(sandbox: string, policy: unknown, options?: SandboxOptions): void
  /** Whether the policy of a sandbox lets UDP go there now. */
  letsDatagrams(sandbox: string, address: string, port: number): boolean
  /** Ends the connections of a sandbox whose machine goes, and those of its neighbours to it; its policy and events stay. */
  disconnect(sandbox: string): void
  /** Closes everything of a sandbox; nothing of it passes any more. */
  remove(sandbox: string): void
  /** Events after number `after`, at most `limit`. Throws `not_found`. */
  events(sandbox: string, after: number, limit: number): Page
  /** Calls `listener` with each new event of the sandbox until the returned function is called. Throws `not_found`. */
  follow(sandbox: string, listener: (event: EgressEvent) => void): () => void
  /** The smallest list that would have let pass all that the sandbox did in mode `record`. Throws `not_found`. */
  learned(sandbox: string, detail?: Detail): { readonly allowedDomains: readonly string[]; readonly complete: boolean }
  close(): Promise<void>
}
