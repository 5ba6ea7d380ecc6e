/** Connections that the network brought here although the sandbox wanted to go elsewhere. */
import type { Socket } from 'node:net'
import type { Engine } from './engine.ts'
import { originalDestination } from '../../base/relay/original-destination.ts'
import type { Tenant } from './tenant.ts'
import { serveTunnel } from './tunnel.ts'

/** Where it wanted to go is asked of the kernel; a connection that was not redirected is closed. */
export const serveTransparent = (engine: Engine, tenant: Tenant, client: Socket): void => {
  client.on('error', () => client.destroy())
  const wanted = originalDestination(client)
  // Whoever connects to the port itself would have it connect to itself.
  if (!wanted || (wanted.address === client.localAddress && wanted.port === client.localPort))
    return void client.destroy()
  serveTunnel(
    {
      engine,
      tenant,
      client,
      host: undefined,
      address: wanted.address,
      port: wanted.port,
      requestId: engine.requestId(),
      said: engine.askers.of(client),
      server: undefined,
    },
    { accept() {}, refuse: () => void client.destroy() },
  ).catch(error => {
    engine.log.error('egress.tunnel.failed', { error })
    client.destroy()
  })
}
