/** Kept connections for those who ask by undici: a pool for each place, as long as somebody asks there. */
import type { Socket } from 'node:net'
import { Pool } from 'undici'
import type { Clock } from '../../../shared/clock.ts'
import { maxOpen } from './places.ts'

export interface Pools {
  /** The pool of that name, or a new one, of connections to `origin` that `open` opens. */
  of(name: string, origin: string, open: () => Promise<Socket>): Pool
  /** Drops the pools of a machine that is no more. */
  forget(host: string): void
  close(): Promise<void>
}

interface Used {
  readonly pool: Pool
  at: number
}

/** As long as a connection rests at most, whatever its other side offers, and as long as a pool is kept that nobody asks. */
const restMs = 30_000
const tickMs = 10_000

/**
 * A pool takes some 25 KB also when it has no connection (its line has 2,048 places, made at once), and a sandbox that sleeps has nobody
 * who asks. Whoever has it still may go on with it: it is only not given to others any more.
 */
const letGo = (pools: Map<string, Used>, now: number): void => {
  for (const [name, { pool, at }] of pools) {
    const { queued, pending, running } = pool.stats
    if (now - at >= restMs && queued + pending + running === 0) pools.delete(name)
  }
}

export const createPools = (clock: Pick<Clock, 'elapsed' | 'every'>): Pools => {
  const pools = new Map<string, Used>()
  const stop = clock.every(tickMs, () => letGo(pools, clock.elapsed()))
  return {
    of(name, origin, open) {
      const known = pools.get(name)
      if (known) {
        known.at = clock.elapsed()
        return known.pool
      }
      // No deadlines: log streams, exec streams and event streams may be silent for as long as they like.
      const pool = new Pool(origin, {
        connections: maxOpen,
        pipelining: 1,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: restMs,
        keepAliveMaxTimeout: restMs,
        connect: (_options, done) => {
          open().then(
            socket => done(null, socket),
            (error: Error) => done(error, null),
          )
        },
      })
      pools.set(name, { pool, at: clock.elapsed() })
      return pool
    },
    forget(host) {
      for (const [name, { pool }] of pools)
        if (name.startsWith(`${host} `)) {
          pools.delete(name)
          pool.destroy().catch(() => {
            // Connections to a machine that is gone: nobody waits for how they end.
          })
        }
    },
    async close() {
      stop()
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()))
      pools.clear()
    },
  }
}
