/**
 * The one tunnel of a sandbox. Its states, and the traffic that may leave the sandbox:
 *
 *     untouched   no tunnel was ever configured                       everything
 *     up          a tunnel runs                                       what the firewall allows
 *     closed      it was taken down, ended, or could not come up      answers to connections that come in
 *
 * A sandbox that is closed never becomes untouched again.
 */
import { fail, messageOf } from '../../shared/errors.ts'
import { keyedMutex } from '../../shared/sync.ts'
import { blockAll, tearDown } from './block.ts'
import { bringUp } from './bring-up.ts'
import type { TunnelContext, TunnelDeps } from './context.ts'
import { noDeviceReason } from './create-device.ts'
import type { Peer } from './device.ts'
import type { Endpoint } from './address.ts'
import type { TunnelSettings } from './document.ts'
import { createFirewall } from './firewall.ts'
import { createPeerResolver } from './peer.ts'
import { createRouting } from './routing.ts'
import { unsupportedReason } from './support.ts'

export interface Tunnel {
  /** Replaces the running tunnel. Throws `operation_failed` when it cannot; then no tunnel runs. */
  up(settings: TunnelSettings): Promise<void>
  /**
   * Takes the tunnel down; the firewall is closed first. Throws `invalid_argument` when none runs, or it cannot be
   * taken down.
   */
  down(): Promise<void>
  /** Closes the sandbox, where that is possible. Throws `operation_failed`. */
  block(): Promise<void>
  /** Clears the remains of an earlier daemon: its tunnel is taken down, and a closed sandbox stays closed. */
  recover(): Promise<void>
  close(): Promise<void>
}

const applyFailed = (error: unknown, after = ''): Error =>
  fail('operation_failed', { reason: `failed to apply tunnel config: ${messageOf(error)}${after}` }, error)

const up = async (
  context: TunnelContext,
  settings: TunnelSettings,
  resolvePeer: (endpoint: Endpoint) => Promise<Peer>,
): Promise<void> => {
  const { tools } = context
  const why = unsupportedReason(tools) ?? (await noDeviceReason(tools))
  if (why) throw applyFailed(why)
  const peer = await resolvePeer(settings.endpoint).catch(error => {
    throw applyFailed(error)
  })
  await bringUp(context, settings, peer).catch(error => {
    throw applyFailed(error, '; nothing leaves the sandbox until a config is applied')
  })
}

const down = async (context: TunnelContext): Promise<void> => {
  const refuse = (reason: string, cause?: unknown) => fail('invalid_argument', { field: '', reason }, cause)
  if (process.platform !== 'linux') throw refuse('tunnels are only supported on Linux')
  if (!context.running) throw refuse('no WireGuard client is running')
  await tearDown(context).catch(error => {
    throw refuse(`the tunnel could not be stopped: ${messageOf(error)}`, error)
  })
  context.log.info('tunnel.down', {})
}

const block = async (context: TunnelContext): Promise<void> => {
  const why = unsupportedReason(context.tools)
  if (why) throw fail('operation_failed', { reason: `the sandbox cannot be closed: ${why}` })
  await tearDown(context)
}

const recover = async (context: TunnelContext): Promise<void> => {
  const { tools, firewall, routing, log } = context
  if (unsupportedReason(tools)) return
  const state = await firewall.inspect()
  if (state.kind === 'none') return
  await blockAll(context)
  if (state.kind === 'closed') return
  // A process that runs this interface ends with it.
  await tools.run('ip', ['link', 'del', 'dev', state.interface]).catch(error => {
    log.info('tunnel.leftover', { interface: state.interface, error })
  })
  await routing.restore()
}

export const createTunnel = (deps: TunnelDeps): Tunnel => {
  const { tools } = deps
  const inTurn = keyedMutex()
  const serial: TunnelContext['serial'] = task => inTurn('tunnel', task)
  const context: TunnelContext = {
    ...deps,
    firewall: createFirewall(tools),
    routing: createRouting(tools),
    serial,
    running: undefined,
    inbound: undefined,
  }
  const resolvePeer = createPeerResolver()
  return {
    up: settings => serial(() => up(context, settings, resolvePeer)),
    down: () => serial(() => down(context)),
    block: () => serial(() => block(context)),
    recover: () => serial(() => recover(context)),
    close: () => serial(async () => (context.running ? tearDown(context) : undefined)),
  }
}
