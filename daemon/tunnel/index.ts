/** The tunnel, loaded when it is needed: few sandboxes use one. */
import type { Bound } from '../../shared/route.ts'
import { configureTunnel, stopTunnel } from '../../shared/wire/tunnel.ts'
import type { Config } from '../config/config.ts'
import type { Core } from '../core.ts'
import { lazyRoutes } from '../lazy-routes.ts'
import { wasConfigured } from './marker.ts'

interface TunnelRoom {
  readonly bounds: readonly Bound[]
  /**
   * Loads it now when the tunnel must be up, or the sandbox closed, before any of the tenant's processes runs. A tunnel
   * that cannot come up is logged and leaves the sandbox closed.
   */
  begin(): Promise<void>
}

const isNeededAtStart = ({ networkingConfig, stateDir, rehearsal }: Config): boolean =>
  !rehearsal && (networkingConfig !== '' || wasConfigured(stateDir))

export const createTunnelRoom = (core: Core): TunnelRoom => {
  const atStart = isNeededAtStart(core.config)
  let loading: Promise<readonly Bound[]> | undefined
  const load = () => (loading ??= import('./open.ts').then(({ openTunnel }) => openTunnel(core, { atStart })))
  return {
    bounds: lazyRoutes([configureTunnel, stopTunnel], load),
    async begin() {
      if (atStart) await load()
    },
  }
}
