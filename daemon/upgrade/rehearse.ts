/** Lets a new release prove itself beside the running daemon before it replaces it. */
import type { Clock } from '../../shared/clock.ts'
import { activity } from '../../shared/wire/system.ts'
import type { Candidate } from './candidate.ts'
import type { Startable } from './program.ts'
import { fail, messageOf } from '../../shared/errors.ts'

const readyMs = 30_000
const pollMs = 200

/** The part of a listed process that is compared. */
export interface Listed {
  readonly pid: string
  readonly status: string
}

export interface RehearseDeps {
  readonly clock: Clock
  /** Starts a program that changes nothing in the sandbox. */
  readonly start: (what: Startable) => Promise<Candidate>
  readonly list: () => readonly Listed[]
  /** Whether this daemon tells its callers apart. */
  readonly keyed: () => boolean
}

const get = async (port: number, path: string, signal: AbortSignal): Promise<unknown> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer.json()
}

const isHealthy = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && (answer as { status?: unknown }).status === 'ok'

const untilHealthy = async (port: number, clock: Clock, signal: AbortSignal): Promise<void> => {
  const deadline = clock.elapsed() + readyMs
  for (;;) {
    signal.throwIfAborted()
    try {
      if (isHealthy(await get(port, '/health', AbortSignal.any([signal, AbortSignal.timeout(readyMs)])))) return
    } catch (error) {
      if (clock.elapsed() > deadline)
        throw fail('operation_failed', { reason: `the new release is not healthy: ${messageOf(error)}` }, error)
    }
    await clock.sleep(pollMs, signal)
  }
}

const running = (list: readonly Listed[]): Set<string> =>
  new Set(list.filter(({ status }) => status === 'running').map(({ pid }) => pid))

/** The candidate must know every process, and may call one finished only if it has finished by now. */
export const compare = (theirs: readonly Listed[], before: readonly Listed[], after: readonly Listed[]): void => {
  if (theirs.length < before.length || theirs.length > after.length)
    throw fail('operation_failed', { reason: `the new release knows ${theirs.length} of ${after.length} processes` })
  const known = running(theirs)
  const stillRunning = running(after)
  const lost = [...running(before)].filter(pid => stillRunning.has(pid) && !known.has(pid))
  if (lost.length > 0)
    throw fail('operation_failed', { reason: `the new release takes running processes for dead: ${lost.join(', ')}` })
}

/** A release from before the channel would answer everything to everybody. */
const tellsCallersApart = async (port: number, signal: AbortSignal): Promise<void> => {
  const { status } = await fetch(`http://127.0.0.1:${port}${activity.path}`, { signal })
  if (status !== 403)
    throw fail('operation_failed', { reason: 'the new release does not tell the host from a tenant; it is too old' })
}

/** Starts the program, waits until it is healthy, compares its processes with ours and stops it. Throws `operation_failed`. */
export const rehearse = async (what: Startable, deps: RehearseDeps, signal: AbortSignal): Promise<void> => {
  const { start, clock, list, keyed } = deps
  const before = list()
  const candidate = await start(what)
  const { port } = candidate
  const over = new AbortController()
  const early = candidate.ended.then(how => {
    throw fail('operation_failed', { reason: `the new release ended at once: ${how}` })
  })
  const check = async () => {
    const within = AbortSignal.any([signal, over.signal])
    await untilHealthy(port, clock, within)
    if (keyed()) await tellsCallersApart(port, within)
    const theirs = (await get(port, '/process', AbortSignal.any([within, AbortSignal.timeout(readyMs)]))) as Listed[]
    compare(theirs, before, list())
  }
  const checked = check()
  try {
    await Promise.race([checked, early])
  } finally {
    over.abort()
    // The loser of the race; the winner's outcome is the answer.
    await Promise.allSettled([candidate.stop(), checked])
    early.catch(() => {})
  }
}
