import type { Socket } from 'node:net'
import { addon, handleOf } from './addon.ts'

/** Address and port a connection had before the network redirected it here; undefined when it did not. */
export const originalDestination = (socket: Socket): { address: string; port: number } | undefined => {
  const handle = handleOf(socket)
  const [number, port] = (handle && addon().originalDestination(handle.fd)) ?? []
  if (number === undefined || port === undefined) return undefined
  return { address: [24, 16, 8, 0].map(shift => (number >>> shift) & 255).join('.'), port }
}
