/** Connections into machines, kept and opened, by who speaks on them. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Pool } from 'undici'
import type { Role } from '../../../shared/channel.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Transport } from '../../../shared/http/client/transport.ts'
import type { Address } from '../store/store.ts'
import { connectChannel, connectPlain } from './connect.ts'
import { createKept, type Kept } from './kept.ts'
import { maxOpen, type Far, type Way } from './places.ts'
import type { ChannelKeys } from './keys.ts'
import { createPools, type Pools } from './pools.ts'
import { questions } from './questions.ts'
import { createShares } from './shares.ts'
import { createTurns, type Turns } from './turns.ts'

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
  /** Kept connections of clients, for those who ask by undici. */
  pool(to: Destination): Pool
  /** For what the host itself asks of a daemon: answers of at most so many bytes. */
  questions(to: Destination, maxBytes: number): Transport
  /**
   * A kept connection without a client on it, for whoever speaks HTTP by itself; `isFresh` for one that was never used. The role is heard by
   * daemons only, and only where there is a channel.
   */
  take(to: Destination, role: Role, isFresh?: boolean): Far | Promise<Far>
  /** Keeps it for the next, at most so long. */
  giveBack: Kept['giveBack']
  /** Takes what one client may have under way there; what comes back gives it up. Waits while too much of theirs is. */
  enter(to: Destination, client: Client): (() => void) | Promise<() => void>
  /** `take`, `giveBack` and `enter` of one client for one place: worked out once, for all requests that go the same way. */
  link(to: Destination, client: Client): Link
  /** A connection of its own. */
  open(to: Destination, role: Role): Promise<Socket>
  /** Opens what the host's next word and a client's first request go on, also while the machine sleeps, and keeps it for so many ms at least. */
  expect(to: Destination, withinMs: number): void
  /** Drops the connections to a machine that is no more. */
  forget(host: string): void
  close(): Promise<void>
}

interface Context {
  readonly keys: Pick<ChannelKeys, 'keyOf'>
  readonly pools: Pools
  readonly kept: Kept
  readonly proving: Turns
}

/**
 * A daemon closes the oldest of 64 connections that have not proved who they are: a crowd that comes at once has to come in turns.
 * Fewer, so that there is room for those that it has not looked at yet.
 */
const provingAtOnce = 24

const opener = ({ keys, proving }: Context, { address, port }: Destination, role: Role): (() => Promise<Socket>) => {
  const { host, channel } = address
  // A machine that was started by an older build has no channel: its daemon answers everything to everybody.
  if (port !== undefined || !channel) return () => connectPlain(host, port ?? address.port)
  const { machine, generation } = channel
  return () =>
    proving.inTurn(host, () =>
      connectChannel({ host, port: channel.port, machine, key: keys.keyOf(machine, generation) }, role),
    )
}

/** What tells kept connections apart. An address may belong to another machine by now. */
const nameOf = ({ address, port }: Destination, role: Role): string => {
  const { host, channel } = address
  return port !== undefined || !channel
    ? `${host} ${port ?? address.port}`
    : `${host} ${channel.port} ${channel.machine} ${channel.generation} ${role}`
}

/** Of the host's own questions to one daemon, which may leave all of them unanswered. */
const maxOfHost = 256

const wayOf = (context: Context, to: Destination, role: Role): Way => ({
  name: nameOf(to, role),
  most: role === 'host' ? maxOfHost : maxOpen,
  // Its key is made out when it is needed.
  open: () => opener(context, to, role)(),
})

const poolOf = (context: Context, to: Destination): Pool => {
  const origin = `http://${to.address.host}:${to.port ?? to.address.port}`
  return context.pools.of(nameOf(to, 'client'), origin, opener(context, to, 'client'))
}

export const createConnections = (
  keys: Pick<ChannelKeys, 'keyOf'>,
  clock: Pick<Clock, 'elapsed' | 'every'>,
  remoteOf = ({ socket }: Client): string => socket.remoteAddress ?? '',
): Connections => {
  const shares = createShares()
  const kept = createKept(clock)
  const context: Context = { keys, pools: createPools(clock), kept, proving: createTurns(provingAtOnce) }
  const { pools } = context
  const taker = (to: Destination, role: Role) => {
    const way = wayOf(context, to, role)
    return (isFresh: boolean) => (isFresh ? kept.fresh(way) : kept.take(way))
  }
  return {
    take: (to, role, isFresh = false) => taker(to, role)(isFresh),
    giveBack: kept.giveBack,
    enter: (to, client) => shares.take(`${nameOf(to, 'client')} ${remoteOf(client)}`),
    link(to, client) {
      const share = `${nameOf(to, 'client')} ${remoteOf(client)}`
      return { to, take: taker(to, 'client'), giveBack: kept.giveBack, enter: () => shares.take(share) }
    },
    pool: to => poolOf(context, to),
    questions(to, maxBytes) {
      const way = wayOf(context, to, 'host')
      const take = (signal: AbortSignal) =>
        kept.take({ ...way, open: () => (signal.aborted ? Promise.reject(signal.reason) : way.open()) })
      return questions({ take, giveBack: kept.giveBack }, maxBytes)
    },
    open: (to, role) => opener(context, to, role)(),
    expect(to, withinMs) {
      for (const role of ['host', 'client'] as const) kept.ahead(wayOf(context, to, role), withinMs)
    },
    forget(host) {
      kept.forget(host)
      pools.forget(host)
    },
    async close() {
      kept.close()
      await pools.close()
    },
  }
}
