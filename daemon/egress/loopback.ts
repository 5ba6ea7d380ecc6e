/** A port of the sandbox's own loopback addresses. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../shared/errors.ts'
import type { Core } from '../core.ts'

const attempts = 10
const betweenMs = 500

const portOf = (server: Server | undefined): number | undefined => (server?.address() as AddressInfo | undefined)?.port

const bind = async (
  make: () => Server,
  host: string,
  port: number,
  { clock, log }: Core,
): Promise<Server | undefined> => {
  for (let attempt = 1; ; attempt++) {
    const server = make()
    try {
      server.listen({ host, port, exclusive: true })
      await once(server, 'listening')
      return server
    } catch (error) {
      const { code } = error as { code?: string }
      // A machine without that address family will not get it by waiting.
      if (attempt === attempts || code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') {
        log.info('egress.no-listener', { host, port, reason: messageOf(error) })
        return undefined
      }
      await clock.sleep(betweenMs)
    }
  }
}

/** Listens on one port of both loopback addresses, a free one for 0; one address is enough. */
export const listenOnLoopback = async (make: () => Server, port: number, core: Core) => {
  const servers: Server[] = []
  for (const host of ['127.0.0.1', '::1']) {
    const server = await bind(make, host, portOf(servers[0]) ?? port, core)
    if (server) servers.push(server)
  }
  return { servers, port: portOf(servers[0]) ?? port }
}
