/** Closes the sandbox: only answers to connections that come in may leave it. */
import type { TunnelContext } from './context.ts'
import { inboundConnections } from './inbound-connections.ts'
import { markConfigured } from './marker.ts'

/** Sets the firewall so that only answers pass. Connections that were open at the first call continue. */
export const blockAll = async (context: TunnelContext): Promise<void> => {
  const { firewall, stateDir } = context
  markConfigured(stateDir)
  context.inbound ??= (await firewall.inspect()).kind === 'none' ? await inboundConnections() : []
  await firewall.apply(undefined, context.inbound)
}

/**
 * Blocks, removes the device and restores the routes. Does all of it even when a part fails, then throws the first
 * failure.
 */
export const tearDown = async (context: TunnelContext): Promise<void> => {
  const before = context.running
  context.running = undefined
  before?.stopRepairing()
  const steps = [() => blockAll(context), async () => before?.device.remove(), context.routing.restore]
  const failures: unknown[] = []
  for (const step of steps) await step().catch(error => failures.push(error))
  if (failures.length > 0) throw failures[0]
}
