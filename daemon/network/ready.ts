/** Whether a process serves the ports somebody waits for. */
import { connect } from 'node:net'
import { isLoopback } from '../../shared/loopback.ts'
import { processTreeOf } from './process-tree.ts'
import { isListening, ownersOf } from './ports.ts'
import { readSockets, type Socket } from './sockets.ts'

const connectTimeoutMs = 500

/** Whether anything accepts connections on the port: the most that can be asked where sockets cannot be listed. */
export const accepts = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port, timeout: connectTimeoutMs })
    const settle = (answer: boolean) => () => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', settle(true)).once('timeout', settle(false)).once('error', settle(false))
  })

/**
 * True when every port has a listening socket, bound to an address others can reach, that belongs to `pid`, a descendant
 * or a member of its process group. A server on loopback only is not ready.
 */
export const portsReady = async (pid: number, ports: readonly number[]): Promise<boolean> => {
  const sockets = await readSockets()
  if (!sockets) return (await Promise.all(ports.map(accepts))).every(Boolean)
  const serves = (socket: Socket, port: number) =>
    socket.localPort === port && isListening(socket) && !isLoopback(socket.localAddr)
  const candidates = ports.map(port => sockets.filter(socket => serves(socket, port)))
  // Finding the owners is costly, so it waits until there is a socket for every port.
  if (candidates.some(found => found.length === 0)) return false
  const owners = await ownersOf(await processTreeOf(pid))
  return candidates.every(found => found.some(({ inode }) => owners.has(inode)))
}
