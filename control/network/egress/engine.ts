/** What every part of the engine works with. */
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Askers } from './askers.ts'
import type { Authority } from './ca/authority.ts'
import type { Resolver } from './dns/resolver.ts'
import type { Fence } from './fence.ts'
import type { HttpService } from './http/service.ts'
import type { HttpProxy } from './http/through-proxy.ts'
import type { HeaderNames } from './http/names.ts'
import type { Relay } from '../../base/relay/relay.ts'
import type { PackageCache } from './packages/cache.ts'
import type { Tenants } from './tenants.ts'
import type { UpstreamTls } from './tls/upstream-tls.ts'

export interface Engine {
  readonly clock: Clock
  readonly log: Log
  readonly tenants: Tenants
  readonly resolver: Resolver
  readonly fence: Fence
  readonly http: HttpService
  readonly names: HeaderNames
  /** What connections to the internet are made through; undefined for none. */
  readonly proxy: HttpProxy | undefined
  /** Packages that are kept; undefined where none are. */
  readonly packages: PackageCache | undefined
  /** A new id for a request. */
  readonly requestId: () => string
  readonly authority: Authority
  readonly upstreamTls: UpstreamTls
  readonly relay: Relay
  readonly askers: Askers
  /** Flows of datagrams of all sandboxes. */
  readonly datagrams: { open: number }
  /** Connections of one sandbox at a time. */
  readonly maxConnections: number
}
