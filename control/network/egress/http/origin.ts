/** Where the requests of a connection go. */
import type { Socket } from 'node:net'
import type { Said } from '../events/events.ts'
import { admit } from '../admit.ts'
import { dial } from '../dial.ts'
import type { Engine } from '../engine.ts'
import type { Neighbour } from '../neighbours.ts'
import type { Awake, Tenant } from '../tenant.ts'
import type { Reason } from './answers.ts'
import type { Pool } from './pool.ts'
import { connectThrough } from './through-proxy.ts'

export interface Origin {
  readonly tenant: Tenant
  readonly scheme: 'http' | 'https'
  /** Canonical; undefined where only an address is known and each request's Host header names it. */
  readonly host: string | undefined
  /** The address the sandbox wants to connect to, when it has chosen one. */
  readonly address: string | undefined
  readonly port: number
  readonly pool: Pool
  /** A connection for requests to `host`. */
  connect(host: string): Promise<Connected>
  readonly said: Said | undefined
}

export type Connected =
  | { readonly ok: true; readonly socket: Socket }
  | { readonly ok: false; readonly reason: Reason; readonly rule?: string | undefined; readonly detail?: string }

const wakeMs = 30_000

const keepAwake = (awake: Tenant['awake'], socket: Socket, held: Awake): void => {
  awake.set(socket, held)
  socket.once('close', () => {
    // Unless the relay has taken over both.
    awake.get(socket)?.release()
    awake.delete(socket)
  })
}

const gone = { ok: false, reason: 'unreachable' } as const

/** Awake while the connection is open. */
const connectNeighbour = async (
  { clock, log }: Engine,
  { awake, neighbour }: Tenant,
  { uid, address, closedPorts, hold }: Neighbour,
  port: number,
): Promise<Connected & { address?: string }> => {
  if (closedPorts.includes(port)) return { ok: false, reason: 'closed_address' }
  const late = new AbortController()
  const stop = clock.after(wakeMs, () => late.abort())
  try {
    const release = await hold(late.signal)
    // While it woke, and while it was dialled, its address may have become somebody else's.
    const isStill = () => neighbour(address)?.uid === uid
    const dialled = isStill() ? await dial([address], port, undefined, clock) : gone
    if (dialled.ok && isStill()) {
      keepAwake(awake, dialled.socket, { uid, release })
      return dialled
    }
    release()
    if (!dialled.ok) return dialled
    dialled.socket.destroy()
    return gone
  } catch (error) {
    log.info('egress.neighbour.asleep', { address, error })
    return { ok: false, reason: 'unreachable' }
  } finally {
    stop()
  }
}

/** A plain TCP connection to a host that the policy, the pins and the fence let this sandbox reach. */
export const connectPlain = async (
  engine: Engine,
  tenant: Tenant,
  wanted: { host: string; address: string | undefined; port: number },
): Promise<Connected & { address?: string }> => {
  const admitted = await admit(engine.resolver, tenant, wanted)
  if (!admitted.ok) return admitted
  const { addresses } = admitted
  const neighbour = tenant.neighbour(addresses[0] as string)
  if (neighbour) return connectNeighbour(engine, tenant, neighbour, wanted.port)
  // An address of its own is the box's, and so is what the operator has opened in private networks.
  const { proxy, fence, clock } = engine
  // One that was a neighbour when it was admitted, and is none any more.
  if (!addresses.every(fence.isOpen)) return { ok: false, reason: 'closed_address' }
  if (proxy && tenant.sourceAddress === undefined && !addresses.some(fence.isPrivate))
    return connectThrough(proxy, addresses, wanted.port, clock)
  return dial(addresses, wanted.port, tenant.sourceAddress, clock)
}
