/** Bringing a tunnel up, and keeping it up. */
import { blockAll, tearDown } from './block.ts'
import { allowedTrafficOf, routePlanOf, type TunnelContext } from './context.ts'
import { createDevice } from './create-device.ts'
import type { Device, Peer } from './device.ts'
import type { TunnelSettings } from './document.ts'
import type { RoutePlan } from './routing.ts'

const repairMs = 1_000
const lastWordsMs = 200

/** The process of the device has ended by itself: the sandbox is closed. */
const onDeviceEnded = (context: TunnelContext, device: Device, why: string): Promise<void> => {
  const { log, serial } = context
  return serial(async () => {
    if (context.running?.device !== device) return
    log.error('tunnel.ended', { why, next: 'nothing leaves the sandbox; configure the tunnel again' })
    await tearDown(context)
  }).catch(error => log.error('tunnel.teardown.failed', { error }))
}

/** Runs once a second: something may add a default route beside ours, for instance a machine that resumes. */
const startRepairing = (context: TunnelContext, plan: RoutePlan): (() => void) => {
  const { clock, log, routing, serial } = context
  if (plan.defaults.length === 0) return () => {}
  const repair = async () => {
    if (await routing.repair(plan)) log.warn('tunnel.route.removed', { interface: plan.interface })
  }
  let busy = false
  return clock.every(repairMs, () => {
    if (busy) return
    busy = true
    serial(async () => (context.running ? repair() : undefined))
      .catch(error => log.warn('tunnel.route.failed', { error }))
      .finally(() => (busy = false))
  })
}

/** The device was made but could not be set up: closes the sandbox, undoes everything and throws. */
const abandon = async (context: TunnelContext, device: Device, error: unknown): Promise<never> => {
  const { clock, log, routing } = context
  // How its process ended says more than the error of the step that failed because of it.
  const why = await Promise.race([device.ended, clock.sleep(lastWordsMs).then(() => undefined)])
  for (const step of [() => blockAll(context), device.remove, routing.restore])
    await step().catch(cause => log.error('tunnel.teardown.failed', { error: cause }))
  throw why === undefined ? error : new Error(why, { cause: error })
}

/**
 * Replaces the running tunnel. The firewall is closed first and opened last, so a failure in between leaves the sandbox
 * closed.
 */
export const bringUp = async (context: TunnelContext, settings: TunnelSettings, peer: Peer): Promise<void> => {
  const { firewall, log, routing } = context
  await tearDown(context)
  const device = await createDevice(settings, context)
  try {
    const plan = routePlanOf(settings, peer)
    await routing.install(plan)
    await firewall.apply(allowedTrafficOf(settings, peer), context.inbound ?? [])
    await device.configurePeer(peer)
    context.running = { device, stopRepairing: startRepairing(context, plan) }
  } catch (error) {
    await abandon(context, device, error)
  }
  void device.ended.then(why => onDeviceEnded(context, device, why))
  const { interface: name, routeAll } = settings
  log.info('tunnel.up', { interface: name, by: device.kind, routeAll })
}
