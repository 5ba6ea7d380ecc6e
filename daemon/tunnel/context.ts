/** What the verbs of the tunnel share; made once, by `createTunnel`. */
import type { Clock } from '../../shared/clock.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Device, Peer } from './device.ts'
import type { TunnelSettings } from './document.ts'
import type { AllowedTraffic, Firewall, InboundConnection } from './firewall.ts'
import type { RoutePlan, Routing } from './routing.ts'
import type { Tools } from './tools.ts'

export interface TunnelDeps {
  readonly tools: Tools
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly stateDir: string
}

interface RunningTunnel {
  readonly device: Device
  readonly stopRepairing: () => void
}

export interface TunnelContext extends TunnelDeps {
  readonly firewall: Firewall
  readonly routing: Routing
  /** Runs one change of the tunnel after the other. */
  readonly serial: <T>(task: () => Promise<T>) => Promise<T>
  running: RunningTunnel | undefined
  /** Connections that came in before the firewall was first set; undefined until then. */
  inbound: readonly InboundConnection[] | undefined
}

export const routePlanOf = (settings: TunnelSettings, peer: Peer): RoutePlan => {
  const { routeAll, allowed } = settings
  const six = allowed.some(({ family, prefix }) => family === 6 && prefix === 0)
  return {
    interface: settings.interface,
    peer,
    networks: allowed,
    defaults: routeAll ? [4, ...(six ? [6 as const] : [])] : [],
  }
}

export const allowedTrafficOf = (settings: TunnelSettings, peer: Peer): AllowedTraffic => ({
  interface: settings.interface,
  peer,
  listenPort: settings.listenPort,
  // Without route_all a default route among `allowed` is not installed, so other traffic is not blocked.
  only: settings.routeAll ? undefined : settings.allowed.filter(({ prefix }) => prefix > 0),
})
