/** Plain HTTP in a tunnel: read like any other, and held to the tunnel's host. */
import { connectTunnel, keepTunnel, type Tunnel } from '../tunnel.ts'
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

/** Of an address alone nothing is known but what each request says, and each is judged. */
const register = (tunnel: Tunnel): void => {
  const { host, tenant } = tunnel
  keepTunnel(tunnel, { host, read: true, unproven: host === undefined && !tenant.policy.restricts })
}

export const serveHttp = (tunnel: Tunnel): void => {
  register(tunnel)
  tunnel.engine.http.serve(tunnel.client, originOf(tunnel))
}

export const serveHttp2 = (tunnel: Tunnel): void => {
  register(tunnel)
  tunnel.engine.http.serveHttp2(tunnel.client, originOf(tunnel))
}
