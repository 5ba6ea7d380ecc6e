/** Requests to workloads, and which connection they go by. */
import type { Connections, Destination } from '../../../core/channel/connections.ts'
import { isRefused, upstreamFailed } from '../../../core/channel/unanswered.ts'
import { exchange, isBodiless, type Exchange } from './exchange.ts'

export interface Forwarder {
  /** Resolves when the answer is delivered, rejects when the workload gives none; after its head left, cuts instead. */
  forward(options: Forwarding): Promise<void>
}

export interface Forwarding extends Exchange {
  readonly to: Destination
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
