/** Plain HTTP in a tunnel: read like any other, and held to the tunnel's host. */
import { connectTunnel, type Tunnel } from '../tunnel.ts'
import type { Origin } from './origin.ts'

const originOf = (tunnel: Tunnel): Origin => ({
  tenant: tunnel.tenant,
  scheme: 'http',
  host: tunnel.host,
  address: tunnel.address,
  port: tunnel.port,
  pool: tunnel.tenant.pool,
  connect: host => connectTunnel(tunnel, host),
  said: tunnel.said,
})

const register = ({ tenant, client, host, address }: Tunnel): void => {
  const connection = { host: host ?? (address as string), read: true, end: () => client.destroy() }
  // Of an address alone nothing is known but what each request says, and each is judged.
  if (host === undefined) return
  tenant.open.add(connection)
  client.once('close', () => tenant.open.delete(connection))
}

export const serveHttp = (tunnel: Tunnel): void => {
  register(tunnel)
  tunnel.engine.http.serve(tunnel.client, originOf(tunnel))
}

export const serveHttp2 = (tunnel: Tunnel): void => {
  register(tunnel)
  tunnel.engine.http.serveHttp2(tunnel.client, originOf(tunnel))
}
