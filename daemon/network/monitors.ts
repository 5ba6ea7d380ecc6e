/** Tells callbacks about ports that processes open. */
import type { Clock } from '../../shared/clock.ts'
import { fail, isError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { portsOf } from './ports.ts'

const pollMs = 500
const callbackTimeoutMs = 10_000
const mostMonitors = 1_000

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

/** Failures are logged only: nobody waits for them, and the next port is told all the same. */
const tell = async ({ pid, callback }: Monitor, port: number, log: Log): Promise<void> => {
  try {
    const answer = await fetch(callback, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ pid, port }),
      signal: AbortSignal.timeout(callbackTimeoutMs),
    })
    await answer.body?.cancel()
  } catch (error) {
    log.info('network.monitor.callback-failed', { pid, port, error })
  }
}

export const portMonitors = (deps: { clock: Clock; log: Log; list?: typeof portsOf }): Monitors => {
  const { clock, log, list = portsOf } = deps
  const monitors = new Set<Monitor>()
  let stopPolling: (() => void) | undefined
  let polling = false

  const look = async (monitor: Monitor): Promise<void> => {
    const ports = new Set((await list(monitor.pid)).map(({ localPort }) => localPort))
    if (!monitors.has(monitor)) return
    const fresh = [...ports].filter(port => !monitor.seen.has(port))
    monitor.seen = ports
    // Fire and forget: a slow callback must not delay what others are told.
    if (monitor.callback !== '') for (const port of fresh) void tell(monitor, port, log)
  }

  const poll = async (): Promise<void> => {
    if (polling) return
    polling = true
    try {
      for (const monitor of monitors) await look(monitor)
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
      if (monitors.size >= mostMonitors)
        throw fail('unprocessable', { reason: `there are ${mostMonitors} port monitors already; stop some` })
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
    },
  }
}
