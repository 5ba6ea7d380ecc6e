/**
 * The one tunnel of a sandbox. Its states, and what each lets out:
 *
 *     untouched   no tunnel was ever configured                       everything
 *     up          a tunnel runs                                       as the fence says
 *     closed      it was taken down, ended, or could not come up      answers to who came in, nothing else
 *
 * There is no way from closed to untouched. Going up, the fence closes first and opens last, so whatever fails in
 * between leaves it closed; going down, it closes first.
 */
import type { Clock } from '../../shared/clock.ts'
import { fail, messageOf } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { keyedMutex } from '../../shared/sync.ts'
import type { Device, Peer } from './device.ts'
import type { TunnelSettings } from './document.ts'
import { createFence, type Gap, type Older } from './fence.ts'
import { makeDevice, whyNoDevice } from './make.ts'
import { mark } from './marker.ts'
import { whyHandsOff } from './needs.ts'
import { olderConnections } from './older.ts'
import { peerFinder } from './peer.ts'
import { createRouting, type Way } from './routing.ts'
import type { Tools } from './tools.ts'

export interface Tunnel {
  /** Replaces what runs. Throws `operation_failed` when it cannot; then no tunnel runs. */
  up(settings: TunnelSettings): Promise<void>
  /** Throws `invalid_argument` when none runs, or it cannot be taken down; the fence is closed first. */
  down(): Promise<void>
  /** Closes the sandbox, where that is possible. Throws `operation_failed`. */
  seal(): Promise<void>
  /** Takes over what an earlier daemon left: its tunnel is taken down, and what was closed stays closed. */
  recover(): Promise<void>
  close(): Promise<void>
}

export interface TunnelDeps {
  readonly tools: Tools
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly stateDir: string
}

interface Running {
  readonly device: Device
  readonly stopMending: () => void
}

const mendMs = 1_000
const lastWordsMs = 200

const wayOf = (settings: TunnelSettings, peer: Peer): Way => {
  const { routeAll, allowed } = settings
  const six = allowed.some(({ family, prefix }) => family === 6 && prefix === 0)
  return {
    interface: settings.interface,
    peer,
    networks: allowed,
    defaults: routeAll ? [4, ...(six ? [6 as const] : [])] : [],
  }
}

const gapOf = (settings: TunnelSettings, peer: Peer): Gap => ({
  interface: settings.interface,
  peer,
  listenPort: settings.listenPort,
  // A default route among `allowed` is not followed without route_all, and so not fenced either.
  only: settings.routeAll ? undefined : settings.allowed.filter(({ prefix }) => prefix > 0),
})

const applyFailed = (error: unknown, after = ''): Error =>
  fail('operation_failed', { reason: `failed to apply tunnel config: ${messageOf(error)}${after}` }, error)

export const createTunnel = (deps: TunnelDeps): Tunnel => {
  const { tools, clock, log, stateDir } = deps
  const fence = createFence(tools)
  const routing = createRouting(tools)
  const findPeer = peerFinder()
  const inTurn = keyedMutex()
  const serial = <T>(task: () => Promise<T>): Promise<T> => inTurn('tunnel', task)
  let running: Running | undefined
  let older: readonly Older[] | undefined

  const shut = async (): Promise<void> => {
    mark(stateDir)
    older ??= (await fence.look()).kind === 'none' ? await olderConnections() : []
    await fence.raise(undefined, older)
  }

  /** Closes the fence, then removes the device and puts the routes back; does all of it even when a part fails. */
  const tearDown = async (): Promise<void> => {
    const had = running
    running = undefined
    had?.stopMending()
    const steps = [shut, async () => had?.device.remove(), routing.restore]
    const failures: unknown[] = []
    for (const step of steps) await step().catch(error => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  const fallen = (device: Device, why: string): Promise<void> =>
    serial(async () => {
      if (running?.device !== device) return
      log.error('tunnel.ended', { why, next: 'nothing leaves the sandbox; configure the tunnel again' })
      await tearDown()
    }).catch(error => log.error('tunnel.teardown.failed', { error }))

  /** Somebody may put a default route back beside ours, as a resumed machine does. */
  const mending = (way: Way): (() => void) => {
    if (way.defaults.length === 0) return () => {}
    let busy = false
    const mend = async () => {
      if (await routing.mend(way)) log.warn('tunnel.route.removed', { interface: way.interface })
    }
    return clock.every(mendMs, () => {
      if (busy) return
      busy = true
      serial(async () => (running ? mend() : undefined))
        .catch(error => log.warn('tunnel.route.failed', { error }))
        .finally(() => (busy = false))
    })
  }

  const bring = async (settings: TunnelSettings, peer: Peer): Promise<void> => {
    await tearDown()
    const device = await makeDevice(settings, deps)
    try {
      const way = wayOf(settings, peer)
      await routing.lead(way)
      await fence.raise(gapOf(settings, peer), older ?? [])
      await device.meet(peer)
      running = { device, stopMending: mending(way) }
    } catch (error) {
      // How its process ended tells more than what missed it.
      const why = await Promise.race([device.ended, clock.sleep(lastWordsMs).then(() => undefined)])
      for (const step of [shut, device.remove, routing.restore])
        await step().catch(cause => log.error('tunnel.teardown.failed', { error: cause }))
      throw why === undefined ? error : new Error(why, { cause: error })
    }
    void device.ended.then(why => fallen(device, why))
    const { interface: name, routeAll } = settings
    log.info('tunnel.up', { interface: name, by: device.kind, routeAll })
  }

  const seal = async (): Promise<void> => {
    const why = whyHandsOff(tools)
    if (why) throw fail('operation_failed', { reason: `the sandbox cannot be closed: ${why}` })
    await tearDown()
  }

  return {
    up: settings =>
      serial(async () => {
        const why = whyHandsOff(tools) ?? (await whyNoDevice(tools))
        if (why) throw applyFailed(why)
        const peer = await findPeer(settings.endpoint).catch(error => {
          throw applyFailed(error)
        })
        await bring(settings, peer).catch(error => {
          throw applyFailed(error, '; nothing leaves the sandbox until a config is applied')
        })
      }),
    down: () =>
      serial(async () => {
        if (process.platform !== 'linux')
          throw fail('invalid_argument', { field: '', reason: 'tunnels are only supported on Linux' })
        if (!running) throw fail('invalid_argument', { field: '', reason: 'no WireGuard client is running' })
        await tearDown().catch(error => {
          throw fail(
            'invalid_argument',
            { field: '', reason: `the tunnel could not be stopped: ${messageOf(error)}` },
            error,
          )
        })
        log.info('tunnel.down', {})
      }),
    seal: () => serial(seal),
    recover: () =>
      serial(async () => {
        if (whyHandsOff(tools)) return
        const stands = await fence.look()
        if (stands.kind === 'none') return
        await shut()
        if (stands.kind === 'closed') return
        // A process behind it ends with its interface.
        await tools.run('ip', ['link', 'del', 'dev', stands.interface]).catch(error => {
          log.info('tunnel.leftover', { interface: stands.interface, error })
        })
        await routing.restore()
      }),
    close: () =>
      serial(async () => {
        if (running) await tearDown()
      }),
  }
}
