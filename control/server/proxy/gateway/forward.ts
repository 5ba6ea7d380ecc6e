/** Requests to workloads: which connection they go by, and what is said when none answers. */
import { fail, messageOf, type AppError } from '../../../../shared/errors.ts'
import type { Connections, Destination } from '../../../core/channel/connections.ts'
import { exchange, isBodiless, type Exchange } from './exchange.ts'

export interface Forwarder {
  /** Resolves when the answer is delivered, rejects when the workload gives none; after its head left, cuts instead. */
  forward(options: Forwarding): Promise<void>
}

export interface Forwarding extends Exchange {
  readonly to: Destination
}

const refusals: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNRESET',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
])

/** Whether nothing of an answer can have come. */
export const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && refusals.has(String(error.code))

/** The workload gave no answer that could be passed on. */
export const upstreamFailed = (error: unknown, port: number): AppError => {
  return isRefused(error)
    ? fail('upstream_failed', { reason: `nothing answers on port ${port} of the sandbox` }, error)
    : fail('upstream_malformed', { port, reason: messageOf(error) }, error)
}

const forward = async (connections: Connections, options: Forwarding): Promise<void> => {
  const { to, request } = options
  const leave = await connections.enter(to, request)
  try {
    await exchange(connections.pool(to), options)
  } catch (error) {
    // A kept connection that the workload closed at the same moment: nothing of the request was answered.
    const again = isBodiless(request) && (request.method === 'GET' || request.method === 'HEAD') && isRefused(error)
    try {
      if (!again) throw error
      await exchange(connections.pool(to), options)
    } catch (last) {
      throw upstreamFailed(last, to.port ?? to.address.port)
    }
  } finally {
    leave()
  }
}

export const forwarder = (connections: Connections): Forwarder => ({
  forward: options => forward(connections, options),
})
