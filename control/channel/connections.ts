/** Connections into machines, kept and opened, by who speaks on them. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Pool } from 'undici'
import type { Role } from '../../shared/channel.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Address } from '../store/store.ts'
import { connectChannel, connectPlain } from './connect.ts'
import { createKept, type Kept } from './kept.ts'
import { maxOpen, type Far } from './places.ts'
import type { ChannelKeys } from './keys.ts'
import { createPools, type Pools } from './pools.ts'
import { createShares } from './shares.ts'

/** The daemon of a machine, or with `port` whatever listens there. */
export interface Destination {
  readonly address: Address
  readonly port?: number | undefined
}

/** Who asks: what a request shows of that. */
export interface Client {
  readonly headers: IncomingHttpHeaders
  readonly socket: Pick<Socket, 'remoteAddress'>
}

/** The way of one client to one place: what is asked of it for every request is worked out once. */
export interface Link {
  readonly to: Destination
  take(isFresh: boolean): Far | Promise<Far>
  giveBack: Kept['giveBack']
  enter(): (() => void) | Promise<() => void>
}

export interface Connections {
  /** Kept connections. The role is heard by daemons only, and only where there is a channel. */
  pool(to: Destination, role: Role): Pool
  /** A kept connection without a client on it, for whoever speaks HTTP by itself; `isFresh` for one that was never used. */
  take(to: Destination, role: Role, isFresh?: boolean): Far | Promise<Far>
  /** Keeps it for the next, at most so long. */
  giveBack: Kept['giveBack']
  /** Takes what one client may have under way there; what comes back gives it up. Waits while too much of theirs is. */
  enter(to: Destination, client: Client): (() => void) | Promise<() => void>
  /** `take`, `giveBack` and `enter` of one client for one place: worked out once, for all requests that go the same way. */
  link(to: Destination, client: Client): Link
  /** A connection of its own. */
  open(to: Destination, role: Role): Promise<Socket>
  /** Opens what the host's next word and a client's first request go on: ahead of both, also while the machine still sleeps. */
  expect(to: Destination): void
  /** Drops the connections to a machine that is no more. */
  forget(host: string): void
  close(): Promise<void>
}

interface Context {
  readonly keys: Pick<ChannelKeys, 'keyOf'>
  readonly clock: Pick<Clock, 'elapsed'>
  readonly pools: Pools
  readonly kept: Kept
  /** Opened ahead for a pool, each for its first connection. */
  readonly begun: Map<string, Promise<Socket>>
}

/** Of the host's own questions to one daemon, which may leave all of them unanswered. */
const maxOfHost = 256

/** A client that has come by then has a connection; a later one is served no worse than another. */
const aheadMs = 10_000

const opener = ({ keys }: Context, { address, port }: Destination, role: Role): (() => Promise<Socket>) => {
  const { host, channel } = address
  // A machine that was started by an older build has no channel: its daemon answers everything to everybody.
  if (port !== undefined || !channel) return () => connectPlain(host, port ?? address.port)
  const { machine, generation } = channel
  return () => connectChannel({ host, port: channel.port, machine, key: keys.keyOf(machine, generation) }, role)
}

/**
 * Bytes a second on a connection of the host's own, so that no daemon keeps the parser busy for as long as a question may take:
 * hints, reasons, sizes and extensions of chunks have no limit there. An answer is a few hundred bytes.
 */
const mostInASecond = 1024 * 1024

const limited = (socket: Socket, clock: Pick<Clock, 'elapsed'>): Socket => {
  let [since, before, heard] = [clock.elapsed(), 0, 0]
  return socket.on('readable', () => {
    const now = clock.elapsed()
    if (now - since >= 1_000) [since, before] = [now, heard]
    heard = socket.bytesRead
    if (heard - before > mostInASecond) socket.destroy(new Error(`more than ${mostInASecond} bytes in a second`))
  })
}

/** What tells kept connections apart. An address may belong to another machine by now. */
const nameOf = ({ address, port }: Destination, role: Role): string => {
  const { host, channel } = address
  return port !== undefined || !channel
    ? `${host} ${port ?? address.port}`
    : `${host} ${channel.port} ${channel.machine} ${channel.generation} ${role}`
}

const poolOf = (context: Context, to: Destination, role: Role): Pool => {
  const name = nameOf(to, role)
  const anew = opener(context, to, role)
  const origin = `http://${to.address.host}:${to.port ?? to.address.port}`
  return context.pools.of(name, { origin, connections: role === 'host' ? maxOfHost : maxOpen }, async () => {
    const begun = context.begun.get(name)
    context.begun.delete(name)
    const socket = await (begun?.catch(anew) ?? anew())
    return role === 'host' ? limited(socket, context.clock) : socket
  })
}

const endBegun = ({ begun }: Context, isMeant: (name: string) => boolean): void => {
  for (const [name, opening] of begun)
    if (isMeant(name)) {
      begun.delete(name)
      opening.then(
        socket => socket.destroy(),
        () => {
          // It was never opened.
        },
      )
    }
}

const expect = (context: Context, to: Destination): void => {
  const { begun, kept } = context
  const opening = opener(context, to, 'host')()
  opening.then(
    // Nobody hears it until it is taken.
    socket => socket.on('error', () => {}),
    () => {
      // Whoever wants it opens one, and is told why not.
    },
  )
  begun.set(nameOf(to, 'host'), opening)
  const ready = kept.fresh(nameOf(to, 'client'), opener(context, to, 'client'))
  ready.then(
    far => kept.giveBack(far, aheadMs),
    () => {
      // The same.
    },
  )
}

export const createConnections = (
  keys: Pick<ChannelKeys, 'keyOf'>,
  clock: Pick<Clock, 'elapsed' | 'every'>,
  remoteOf = ({ socket }: Client): string => socket.remoteAddress ?? '',
): Connections => {
  const shares = createShares()
  const kept = createKept(clock)
  const context: Context = { keys, clock, pools: createPools(clock), kept, begun: new Map() }
  const { pools } = context
  const taker = (to: Destination, role: Role) => {
    const name = nameOf(to, role)
    const open = () => opener(context, to, role)()
    return (isFresh: boolean) => (isFresh ? kept.fresh(name, open) : kept.take(name, open))
  }
  return {
    take: (to, role, isFresh = false) => taker(to, role)(isFresh),
    giveBack: kept.giveBack,
    enter: (to, client) => shares.take(`${nameOf(to, 'client')} ${remoteOf(client)}`),
    link(to, client) {
      const share = `${nameOf(to, 'client')} ${remoteOf(client)}`
      return { to, take: taker(to, 'client'), giveBack: kept.giveBack, enter: () => shares.take(share) }
    },
    pool: (to, role) => poolOf(context, to, role),
    open: (to, role) => opener(context, to, role)(),
    expect: to => expect(context, to),
    forget(host) {
      kept.forget(host)
      endBegun(context, name => name.startsWith(`${host} `))
      pools.forget(host)
    },
    async close() {
      kept.close()
      endBegun(context, () => true)
      await pools.close()
    },
  }
}
