/**
 * Which images generic machines are not given for: on a box on which none can get the root of an image, and for an image that leads elsewhere,
 * each create would pay for a machine that is thrown away and a new one. After some failures in a row nobody is given one for that
 * image for a while; then one is tried, and the while doubles if that fails. By image: who makes one that always fails keeps
 * nobody else from theirs.
 */
import type { Clock } from '../../../../shared/clock.ts'
import { isError, messageOf } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import { rootStep } from '../../../drivers/driver.ts'

export interface Circuit {
  /** How many may be given for that image now. */
  most(digest: string): number
  /** These were. */
  given(digest: string, ids: readonly string[]): void
  /** A machine has become its owner's, or has not. */
  became(id: string, error?: unknown): void
  /** Of images that none are given for now: the last reason. */
  readonly paused: readonly string[]
}

/** Failures in a row. */
const enough = 3
const [firstPauseMs, longestPauseMs] = [60_000, 3_600_000]
/** More are not remembered, the oldest not. */
const [mostImages, mostMachines] = [1_000, 10_000]

interface Failing {
  failures: number
  reason: string
  /** 0 until there were enough. */
  pauseMs: number
  /** By the clock's elapsed time. */
  until: number
  /** The machine by which it is tried whether that goes well again. */
  trial?: string | undefined
}

interface Context {
  readonly clock: Pick<Clock, 'elapsed'>
  readonly log: Log
  readonly failing: Map<string, Failing>
  readonly images: Map<string, string>
}

const bound = (map: Map<string, unknown>, most: number): void => {
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}

const failed = ({ failing, clock, log }: Context, digest: string, id: string, error: unknown): void => {
  const one = failing.get(digest) ?? { failures: 0, reason: '', pauseMs: 0, until: 0 }
  failing.set(digest, one)
  bound(failing, mostImages)
  one.failures++
  one.reason = messageOf(error)
  // One that was given before is no news.
  if (one.failures < enough || (one.pauseMs > 0 && one.trial !== id)) return
  if (one.pauseMs === 0) log.warn('warm.generic-paused', { image: digest, failures: one.failures, error })
  one.pauseMs = one.pauseMs === 0 ? firstPauseMs : Math.min(longestPauseMs, 2 * one.pauseMs)
  one.until = clock.elapsed() + one.pauseMs
  one.trial = undefined
}

export const createCircuit = ({ clock, log }: Pick<Context, 'clock' | 'log'>): Circuit => {
  const context: Context = { clock, log, failing: new Map(), images: new Map() }
  const { failing, images } = context
  return {
    most(digest) {
      const one = failing.get(digest)
      if (!one || one.pauseMs === 0) return Infinity
      return clock.elapsed() < one.until ? 0 : 1
    },
    given(digest, ids) {
      for (const id of ids) {
        images.set(id, digest)
        bound(images, mostMachines)
        const one = failing.get(digest)
        // Nobody else tries meanwhile; where nothing is heard of it, another is tried as late.
        if (one && one.pauseMs > 0) Object.assign(one, { trial: id, until: clock.elapsed() + one.pauseMs })
      }
    },
    became(id, error) {
      const digest = images.get(id)
      images.delete(id)
      if (digest === undefined) return
      if (isError(error, 'driver_failed') && error.details?.step === rootStep) return failed(context, digest, id, error)
      const one = failing.get(digest)
      if (error !== undefined) {
        // Something else went wrong: by the next it is tried.
        if (one?.trial === id) Object.assign(one, { trial: undefined, until: clock.elapsed() })
        return
      }
      if (one && one.pauseMs > 0) log.info('warm.generic-resumed', { image: digest })
      failing.delete(digest)
    },
    get paused() {
      return [...failing.values()].filter(({ pauseMs }) => pauseMs > 0).map(({ reason }) => reason)
    },
  }
}
