/** Tells callbacks about ports that processes open. */
import type { Clock } from '../../shared/clock.ts'
import { fail, isError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createCallbacks } from './callback.ts'
import { portsOf } from './ports.ts'

const pollMs = 500
const maxMonitors = 1_000

export interface Monitors {
  /** Posts `{pid, port}` to `callback` for every port that was not there at the poll before; '' posts nothing. */
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

export const createPortMonitors = (deps: {
  clock: Clock
  log: Log
  list?: typeof portsOf
  /** Whether there still is such a process. */
  exists: (pid: number) => boolean
}): Monitors => {
  const { clock, log, exists, list = portsOf } = deps
  const monitors = new Set<Monitor>()
  const callbacks = createCallbacks()
  let stopPolling: (() => void) | undefined
  let polling = false

  /** Failures are logged only: nobody waits for them, and the next port is told all the same. */
  const tell = ({ pid, callback }: Monitor, port: number): void =>
    void callbacks
      .post(callback, { pid, port })
      .catch((error: unknown) => log.info('network.monitor.callback-failed', { pid, port, error }))

  /** Of one process, whoever monitors it. */
  const look = async (pid: number, watching: readonly Monitor[]): Promise<void> => {
    const ports = new Set((await list(pid)).map(({ localPort }) => localPort))
    for (const monitor of watching) {
      if (!monitors.has(monitor)) continue
      const fresh = [...ports].filter(port => !monitor.seen.has(port))
      monitor.seen = ports
      // Fire and forget: a slow callback must not delay what others are told.
      if (monitor.callback !== '') for (const port of fresh) tell(monitor, port)
    }
  }

  const poll = async (): Promise<void> => {
    if (polling) return
    polling = true
    try {
      for (const [pid, watching] of Map.groupBy(monitors, monitor => monitor.pid)) await look(pid, watching)
    } catch (error) {
      if (isError(error)) log.warn('network.monitor.blind', { error })
      else log.error('network.monitor.failed', { error })
    } finally {
      polling = false
    }
  }

  const idle = (): void => {
    if (monitors.size > 0) return
    stopPolling?.()
    stopPolling = undefined
  }

  return {
    start(pid, callback) {
      // Those of processes that are gone stay until they are in the way.
      if (monitors.size >= maxMonitors)
        for (const monitor of monitors) if (!exists(monitor.pid)) monitors.delete(monitor)
      if (monitors.size >= maxMonitors)
        throw fail('unprocessable', { reason: `there are ${maxMonitors} port monitors already; stop some` })
      monitors.add({ pid, callback, seen: new Set() })
      stopPolling ??= clock.every(pollMs, () => void poll())
    },
    stop(pid) {
      for (const monitor of monitors) if (monitor.pid === pid) monitors.delete(monitor)
      idle()
    },
    close() {
      monitors.clear()
      idle()
      callbacks.close()
    },
  }
}
