/** Requests to workloads: which connection they go by, and what is said when none answers. */
import { Pool } from 'undici'
import { fail, messageOf, type AppError } from '../../shared/errors.ts'
import type { Address } from '../store/store.ts'
import { exchange, isBodiless, type Exchange } from './exchange.ts'

export interface Forwarder {
  /** Resolves when the answer is delivered, rejects when the workload gives none; after its head left, cuts instead. */
  forward(options: Forwarding): Promise<void>
  /** Drops the connections to an upstream that is no more. */
  forget(host: string): void
  close(): Promise<void>
}

export interface Forwarding extends Exchange {
  readonly upstream: Address
}

const refusals: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNRESET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
])

const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && refusals.has(String(error.code))

/** The workload gave no answer that could be passed on. */
const upstreamFailed = (error: unknown, port: number): AppError => {
  const reason = isRefused(error)
    ? `nothing answers on port ${port} of the sandbox`
    : `port ${port} of the sandbox gives no answer that is HTTP: ${messageOf(error)}`
  return fail('upstream_failed', { reason }, error)
}

type Pools = Map<string, Pool>

const poolOf = (pools: Pools, { host, port }: Address): Pool => {
  const origin = `http://${host}:${port}`
  let pool = pools.get(origin)
  if (!pool) {
    // No deadlines: log streams, exec streams and event streams may be silent for as long as they like.
    pool = new Pool(origin, {
      connections: 256,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
      connect: { timeout: 5_000 },
    })
    pools.set(origin, pool)
  }
  return pool
}

const forward = async (pools: Pools, options: Forwarding): Promise<void> => {
  const { upstream, request } = options
  try {
    await exchange(poolOf(pools, upstream), options)
  } catch (error) {
    // A kept connection that the workload closed at the same moment: nothing of the request was answered.
    const again = isBodiless(request) && (request.method === 'GET' || request.method === 'HEAD') && isRefused(error)
    try {
      if (!again) throw error
      await exchange(poolOf(pools, upstream), options)
    } catch (last) {
      throw upstreamFailed(last, upstream.port)
    }
  }
}

const forget = (pools: Pools, host: string): void => {
  for (const [origin, pool] of pools)
    if (origin.startsWith(`http://${host}:`)) {
      pools.delete(origin)
      pool.destroy().catch(() => {
        // Connections to a machine that is gone: nobody waits for how they end.
      })
    }
}

export const forwarder = (): Forwarder => {
  const pools: Pools = new Map()
  return {
    forward: options => forward(pools, options),
    forget: host => forget(pools, host),
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
      pools.clear()
    },
  }
}
