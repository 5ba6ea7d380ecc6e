/** Reports ports that processes open to callbacks. */
import type { Clock } from '../../shared/clock.ts'
import { fail, isError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createCallbacks, type Callbacks } from './callback.ts'
import { portsOf } from './ports.ts'

const pollMs = 500
const maxMonitors = 1_000

export interface Monitors {
  /** Posts `{pid, port}` to `callback` for every port that was not there at the previous poll; '' posts nothing. */
  start(pid: number, callback: string): void
  /** Ends all monitors of `pid`; there may be none. */
  stop(pid: number): void
  close(): void
}

interface Monitor {
  readonly pid: number
  readonly callback: string
  seen: ReadonlySet<number>
}

interface MonitorsContext {
  readonly log: Log
  /** The ports of a process and its descendants. */
  readonly list: typeof portsOf
  readonly callbacks: Callbacks
  readonly monitors: Set<Monitor>
  stopPolling: (() => void) | undefined
  polling: boolean
}

/** Failures are only logged: nobody waits for them, and the next port is reported all the same. */
const notify = ({ callbacks, log }: MonitorsContext, { pid, callback }: Monitor, port: number): void =>
  void callbacks
    .post(callback, { pid, port })
    .catch((error: unknown) => log.info('network.monitor.callback-failed', { pid, port, error }))

/** Looks at one process for all of its monitors. */
const check = async (context: MonitorsContext, pid: number, watching: readonly Monitor[]): Promise<void> => {
  const ports = new Set((await context.list(pid)).map(({ localPort }) => localPort))
  for (const monitor of watching) {
    if (!context.monitors.has(monitor)) continue
    const fresh = [...ports].filter(port => !monitor.seen.has(port))
    monitor.seen = ports
    // Not awaited: a slow callback must not delay the others.
    if (monitor.callback !== '') for (const port of fresh) notify(context, monitor, port)
  }
}

const poll = async (context: MonitorsContext): Promise<void> => {
  if (context.polling) return
  context.polling = true
  try {
    for (const [pid, watching] of Map.groupBy(context.monitors, monitor => monitor.pid))
      await check(context, pid, watching)
  } catch (error) {
    if (isError(error)) context.log.warn('network.monitor.blind', { error })
    else context.log.error('network.monitor.failed', { error })
  } finally {
    context.polling = false
  }
}

const stopIfIdle = (context: MonitorsContext): void => {
  if (context.monitors.size > 0) return
  context.stopPolling?.()
  context.stopPolling = undefined
}

export const createPortMonitors = (deps: {
  clock: Clock
  log: Log
  list?: typeof portsOf
  /** Whether there still is such a process. */
  exists: (pid: number) => boolean
}): Monitors => {
  const { clock, log, exists, list = portsOf } = deps
  const callbacks = createCallbacks()
  const context: MonitorsContext = {
    log,
    list,
    callbacks,
    monitors: new Set(),
    stopPolling: undefined,
    polling: false,
  }
  const { monitors } = context
  return {
    start(pid, callback) {
      // Monitors of processes that have ended stay until there is no room.
      if (monitors.size >= maxMonitors)
        for (const monitor of monitors) if (!exists(monitor.pid)) monitors.delete(monitor)
      if (monitors.size >= maxMonitors)
        throw fail('unprocessable', { reason: `there are ${maxMonitors} port monitors already; stop some` })
      monitors.add({ pid, callback, seen: new Set() })
      context.stopPolling ??= clock.every(pollMs, () => void poll(context))
    },
    stop(pid) {
      for (const monitor of monitors) if (monitor.pid === pid) monitors.delete(monitor)
      stopIfIdle(context)
    },
    close() {
      monitors.clear()
      stopIfIdle(context)
      callbacks.close()
    },
  }
}
