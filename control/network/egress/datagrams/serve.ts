/**
 * UDP of sandboxes to anywhere, redirected here by the network. Where each flow wanted to go is asked of the kernel, and what the policy lets
 * go there goes on from a socket of this host's; answers of that place return by the kernel's own record of the flow, under the
 * address that the sandbox had sent to. So nothing of a sandbox is ever passed on by the kernel itself, and without this process nothing leaves.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { datagramDestination, type Place } from '../../../base/relay/datagram-destination.ts'
import type { Engine } from '../engine.ts'
import type { Tenant } from '../tenant.ts'
import { beginFlow, type Flow } from './flow.ts'
import { mostQueuedBytes } from './open-socket.ts'

export interface DatagramServer {
  readonly port: number
  close(): Promise<void>
}

/** A port that goes on sending may send elsewhere when the kernel has forgotten where it sent before. */
const lookAgainMs = 1_000

const samePlace = (one: Place, other: Place): boolean => one.address === other.address && one.port === other.port

/** Undefined for what was not redirected: whoever sends to the port itself would have it send to itself. */
const wantedBy = (engine: Engine, own: Place, from: Place): Place | undefined => {
  try {
    const wanted = datagramDestination(own, from)
    return wanted && samePlace(wanted, own) ? undefined : wanted
  } catch (error) {
    engine.log.warn('egress.datagrams.unknown', { error, next: 'load the kernel module nf_conntrack_netlink' })
    return undefined
  }
}

interface Came {
  readonly socket: Socket
  readonly from: RemoteInfo
  readonly isOpen: () => boolean
}

/** The flow of a datagram from that port, begun where there is none. */
const flowOf = (engine: Engine, tenant: Tenant, { socket, from, isOpen }: Came): Flow | undefined => {
  const { datagrams, generation } = tenant
  const now = engine.clock.now()
  const sender = `${from.address}:${from.port}`
  const known = datagrams.get(sender)
  const isOld = known && !known.passes && known.generation !== generation
  if (known && !isOld && now - known.lookedAt < lookAgainMs) return known
  if (!datagrams.looks.take()) return undefined
  const to = wantedBy(engine, socket.address(), from)
  if (!to) return undefined
  if (known && !isOld && !known.again && samePlace(known.to, to)) {
    known.lookedAt = now
    return known
  }
  const answer = (bytes: Buffer): void => {
    if (isOpen() && socket.getSendQueueSize() < mostQueuedBytes) socket.send(bytes, from.port, from.address, () => {})
  }
  const flow = beginFlow({ engine, tenant, to, sender, answer })
  datagrams.set(sender, flow)
  return flow
}

/** `port` 0 is any. */
export const serveDatagrams = async (engine: Engine, host: string, port: number): Promise<DatagramServer> => {
  const socket = createSocket('udp4')
  let closed = false
  const isOpen = () => !closed
  socket.on('message', (bytes, from) => {
    const tenant = engine.tenants.of({ remoteAddress: from.address })
    if (!tenant?.datagrams.rate.take()) return
    const flow = flowOf(engine, tenant, { socket, from, isOpen })
    if (!flow) return
    flow.usedAt = engine.clock.now()
    flow.send(bytes)
  })
  await new Promise<void>((done, failed) => {
    socket.once('error', failed)
    socket.bind(port, host, () => {
      socket.off('error', failed)
      done()
    })
  })
  socket.on('error', error => engine.log.error('egress.datagrams.socket', { error }))
  return {
    port: socket.address().port,
    close() {
      closed = true
      return new Promise(done => socket.close(() => done()))
    },
  }
}
