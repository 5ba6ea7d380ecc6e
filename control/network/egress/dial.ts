/** TCP connections to addresses that were admitted, and to no others. */
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'

export type Dialled =
  | { readonly ok: true; readonly socket: Socket; readonly address: string }
  | { readonly ok: false; readonly reason: 'unreachable' | 'timeout' }

const perAddressMs = 5_000
const maxTried = 3

const attempt = (
  address: string,
  port: number,
  sourceAddress: string | undefined,
  clock: Clock,
): Promise<Socket | 'unreachable' | 'timeout'> =>
  new Promise(resolve => {
    // A numeric address: nothing is looked up here.
    const socket = connect({
      host: address,
      port,
      noDelay: true,
      family: 4,
      ...(sourceAddress && { localAddress: sourceAddress }),
    })
    const stop = clock.after(perAddressMs, () => finish('timeout'))
    const finish = (result: 'unreachable' | 'timeout') => {
      stop()
      socket.destroy()
      resolve(result)
    }
    const onError = (error: Error) => finish(errno(error) === 'ETIMEDOUT' ? 'timeout' : 'unreachable')
    socket.on('error', onError)
    socket.once('connect', () => {
      stop()
      socket.off('error', onError)
      resolve(socket)
    })
  })

/** Connects to the first address that answers. The socket has no listeners: whoever takes it adds one for errors. */
export const dial = async (
  addresses: readonly string[],
  port: number,
  sourceAddress: string | undefined,
  clock: Clock,
): Promise<Dialled> => {
  let reason: 'unreachable' | 'timeout' = 'unreachable'
  for (const address of addresses.slice(0, maxTried)) {
    const result = await attempt(address, port, sourceAddress, clock)
    if (typeof result !== 'string') return { ok: true, socket: result, address }
    reason = result
  }
  return { ok: false, reason }
}
