import { messageOf } from '../../shared/errors.ts'
import { familyOf, type Endpoint } from './address.ts'
import type { Peer } from './device.ts'

const lookup = (host: string): Promise<string> =>
  new Promise((resolve, reject) => {
    // Asked of the module each time: in a sandbox it is our own.
    process.getBuiltinModule('node:dns').lookup(host, (error, address) => (error ? reject(error) : resolve(address)))
  })

/**
 * Finds the address of an endpoint that is given by name. It remembers addresses, because a sandbox whose tunnel was
 * taken down cannot reach a name server when the tunnel is to come up again.
 */
export const createPeerResolver = (): ((endpoint: Endpoint) => Promise<Peer>) => {
  const known = new Map<string, string>()
  const find = async (host: string): Promise<string> => {
    try {
      const address = await lookup(host)
      known.set(host, address)
      return address
    } catch (error) {
      const before = known.get(host)
      if (before !== undefined) return before
      throw new Error(`the peer's name ${host} cannot be resolved (${messageOf(error)}); give its address`, {
        cause: error,
      })
    }
  }
  return async ({ host, port }) => {
    const address = familyOf(host) ? host : await find(host)
    return { family: familyOf(address) ?? 4, address, port }
  }
}
