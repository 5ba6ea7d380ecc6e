import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/tunnel.ts'
import { readTunnelDocument } from './document.ts'
import type { Tunnel } from './tunnel.ts'

export const tunnelRoutes = (tunnel: Tunnel): Bound[] => [
  handle(wire.configureTunnel, async ({ body }) => {
    await tunnel.up(readTunnelDocument(body.config))
    return { path: '', message: 'Tunnel configuration updated successfully' }
  }),
  handle(wire.stopTunnel, async () => {
    await tunnel.down()
    return { path: '', message: 'Tunnel disconnected successfully' }
  }),
]
