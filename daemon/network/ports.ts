import type { In } from '../../shared/schema.ts'
import { fail } from '../../shared/errors.ts'
import type { port } from '../../shared/wire/network.ts'
import { processTreeOf, processName, socketsHeld } from './process-tree.ts'
import { readSockets, type Socket } from './sockets.ts'

export type Port = In<typeof port>

/** Inode → the first of the processes that holds it. */
export const ownersOf = async (family: readonly number[]): Promise<Map<string, number>> => {
  const owners = new Map<string, number>()
  const held = await Promise.all(family.map(pid => socketsHeld(pid)))
  for (const [index, inodes] of held.entries())
    for (const inode of inodes) if (!owners.has(inode)) owners.set(inode, family[index] as number)
  return owners
}

export const isListening = ({ state }: Socket): boolean => state === 'LISTEN' || state === 'UNCONN'

/**
 * Sockets of `pid` and its process tree, one per local port: the listener where a port has a listener and connections.
 * Throws `unprocessable` when the system does not show its sockets.
 */
export const portsOf = async (pid: number): Promise<Port[]> => {
  const sockets = await readSockets()
  if (!sockets) throw fail('unprocessable', { reason: 'cannot list sockets: no /proc/net, and neither ss nor netstat' })
  const owners = await ownersOf(await processTreeOf(pid))
  const ports = new Map<number, Omit<Port, 'processName'>>()
  const listenersLast = sockets.toSorted((a, b) => Number(isListening(a)) - Number(isListening(b)))
  for (const { inode, ...socket } of listenersLast) {
    const owner = owners.get(inode)
    if (owner !== undefined) ports.set(socket.localPort, { pid: owner, ...socket })
  }
  return Promise.all([...ports.values()].map(async found => ({ ...found, processName: await processName(found.pid) })))
}
