/** Requests to workloads: which connection they go by, and what is said when none answers. */
import { errno, fail, messageOf, type AppError } from '../../../../shared/errors.ts'
import type { Connections, Destination } from '../../../core/channel/connections.ts'
import { exchange, isBodiless, type Exchange } from './exchange.ts'
import { isUnsent } from './unsent.ts'

export interface Forwarder {
  /** Resolves when the answer is delivered, rejects when the workload gives none; after its head left, cuts instead. */
  forward(options: Forwarding): Promise<void>
}

export interface Forwarding extends Exchange {
  readonly to: Destination
}

/** The connection came about and ended before an answer. */
const cuts: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'UND_ERR_SOCKET'])
/** No connection came about in time: whoever listens there has too much to do to take it. */
const delays: ReadonlySet<string | undefined> = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'])

/** Whether nothing of an answer can have come. */
export const isRefused = (error: unknown): boolean => {
  const code = errno(error)
  return isUnsent(error) || cuts.has(code) || delays.has(code)
}

/** The workload gave no answer that could be passed on. */
export const upstreamFailed = (error: unknown, port: number): AppError => {
  const code = errno(error)
  if (isUnsent(error))
    return fail('upstream_failed', { reason: `nothing answers on port ${port} of the sandbox` }, error)
  if (delays.has(code)) {
    const reason = `what listens on port ${port} of the sandbox is busy: it took no connection in time`
    return fail('upstream_busy', { reason }, error)
  }
  if (!cuts.has(code)) return fail('upstream_malformed', { port, reason: messageOf(error) }, error)
  const reason = `nothing answers on port ${port} of the sandbox: the connection was closed before an answer`
  return fail('upstream_failed', { reason }, error)
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
