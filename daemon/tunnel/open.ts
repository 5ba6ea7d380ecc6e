import { messageOf } from '../../shared/errors.ts'
import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import { readTunnelDocument } from './document.ts'
import { tunnelRoutes } from './routes.ts'
import { createTools } from './tools.ts'
import { createTunnel, type Tunnel } from './tunnel.ts'

type Needs = Pick<Core, 'config' | 'clock' | 'ids' | 'log' | 'closing'>

/** Brings up the tunnel that the environment describes. Without one, or when that fails, the sandbox is closed. Never throws. */
const begin = async (tunnel: Tunnel, { config, log }: Needs): Promise<void> => {
  const next = 'nothing leaves the sandbox; configure the tunnel with PUT /network/tunnel/config'
  try {
    if (config.networkingConfig !== '') return await tunnel.up(readTunnelDocument(config.networkingConfig))
    log.warn('tunnel.closed', { reason: 'a tunnel was configured before the daemon started', next })
  } catch (error) {
    log.warn('tunnel.start.failed', { reason: messageOf(error), next })
  }
  await tunnel.block().catch(error => log.error('tunnel.open', { reason: messageOf(error) }))
}

/** Resolves when the remains of an earlier daemon are cleared and, with `atStart`, the tunnel is up or has failed. */
export const openTunnel = async (core: Needs, { atStart }: { atStart: boolean }): Promise<readonly Bound[]> => {
  const { config, clock, ids, log, closing } = core
  const tunnel = createTunnel({ tools: createTools(), clock, ids, log, stateDir: config.stateDir })
  closing.add('tunnel', tunnel.close)
  await tunnel.recover().catch(error => log.error('tunnel.recover.failed', { error }))
  if (atStart) await begin(tunnel, core)
  return tunnelRoutes(tunnel)
}
