import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import type { Log } from '../../../shared/log.ts'
import type { Meter } from '../store/meter.ts'

/** How much a crash can lose of the bill, ms. */
const checkpointEveryMs = 60_000

export interface CheckpointDeps {
  readonly meter: Pick<Meter, 'checkpoint'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Adds what open intervals have used so far to the bill: every minute, and once more when `closer` closes. What it returns tells
 * how long ago it last did, in ms.
 */
export const keepCheckpoints = ({ meter, clock, log }: CheckpointDeps, closer: Closing): (() => number) => {
  let last = clock.elapsed()
  const stop = clock.every(checkpointEveryMs, () => {
    meter.checkpoint(clock.now()).then(
      () => {
        last = clock.elapsed()
      },
      error => log.error('checkpoint.failed', { error }),
    )
  })
  closer.add('checkpoints', async () => {
    stop()
    await meter.checkpoint(clock.now())
  })
  return () => clock.elapsed() - last
}
