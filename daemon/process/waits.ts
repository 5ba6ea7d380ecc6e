import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { StartProcess } from '../../shared/wire/process.ts'
import { setLongTimer } from './long-timer.ts'
import type { Managed } from './managed.ts'
import type { ProcessRecord } from './record.ts'

/**
 * How long a caller waits at most, in milliseconds, or undefined. With keepAlive the timeout limits the process
 * instead.
 */
export const waitBound = ({ keepAlive, timeout }: Pick<StartProcess, 'keepAlive' | 'timeout'>): number | undefined =>
  !keepAlive && timeout && timeout > 0 ? timeout * 1000 : undefined

/** Waits for `work` within the limit; the process goes on in any case. Rejects when the caller is gone. */
const within = async <T>(
  clock: Clock,
  work: Promise<T>,
  options: { boundMs: number | undefined; signal: AbortSignal; late: () => unknown },
): Promise<T> => {
  const { boundMs, signal, late } = options
  const { promise, reject } = Promise.withResolvers<never>()
  const gone = (): void => reject(signal.reason)
  const cancel = boundMs === undefined ? undefined : setLongTimer(clock, boundMs, () => reject(late()))
  if (signal.aborted) gone()
  signal.addEventListener('abort', gone, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    cancel?.()
    signal.removeEventListener('abort', gone)
  }
}

const timedOut = (what: string) =>
  fail('unprocessable', { reason: `process timed out: ${what} in time; it keeps running` })

/** Waits for the final end. Throws `unprocessable` when that takes longer than `boundMs`. */
export const waitForEnd = (
  clock: Clock,
  { finished }: Managed,
  boundMs: number | undefined,
  signal: AbortSignal,
): Promise<void> =>
  within(clock, finished, {
    boundMs,
    signal,
    late: () => timedOut('it did not end'),
  })

const endedFirst = (record: ProcessRecord, deadline: number | undefined, ports: readonly number[]) => {
  const { name, exitCode, completedAt = 0 } = record
  const how =
    completedAt >= (deadline ?? Number.POSITIVE_INFINITY) ? 'timed out and was killed' : `ended (exit code ${exitCode})`
  return fail('unprocessable', { reason: `process "${name}" ${how} before port ${ports.join(', ')} was ready` })
}

const minPollMs = 10
const maxPollMs = 100

/**
 * Waits until all ports are ready at the same time. Throws `unprocessable` when time is up or the process has finally
 * ended.
 */
export const waitForPorts = async (
  deps: { clock: Clock; portsReady: (pid: number, ports: readonly number[]) => Promise<boolean> },
  managed: Managed,
  ports: readonly number[],
  boundMs: number | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const { clock, portsReady } = deps
  const { record } = managed
  const { deadline } = record
  const poll = async (stop: AbortSignal): Promise<void> => {
    for (let pause = minPollMs; !stop.aborted; pause = Math.min(maxPollMs, pause * 1.5)) {
      const pid = record.current?.pid
      if (pid !== undefined && (await portsReady(pid, ports))) return
      if (record.status !== 'running') throw endedFirst(record, deadline, ports)
      await Promise.race([clock.sleep(pause, stop).catch(() => undefined), managed.finished])
    }
  }
  const stop = new AbortController()
  try {
    await within(clock, poll(stop.signal), {
      boundMs,
      signal,
      late: () => timedOut(`port ${ports.join(', ')} was not ready (on 0.0.0.0 or ::, 127.0.0.1 does not count)`),
    })
  } finally {
    stop.abort()
  }
}
