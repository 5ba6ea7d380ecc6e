/**
 * Ends and removals of machines have turns of their own: a machine whose processes wait in the kernel takes a minute, and who has many of
 * them would keep everybody else's from starting.
 */
import type { Clock } from '../../../shared/clock.ts'
import { semaphore } from '../../../shared/sync.ts'

const atOnce = 32
/** How long one keeps its turn that is not done. */
const turnMs = 500

export const createRemovals = () => semaphore(atOnce)

export interface Removing {
  readonly removals: ReturnType<typeof createRemovals>
  readonly clock: Pick<Clock, 'after'>
}

/** The place that a run of the loop has among all. */
export interface Place {
  /** Gives it up. */
  readonly leave: () => void
  /** Aborted when none is to begin any more. */
  readonly signal: AbortSignal
}

/** Runs an end or a removal in its turn, without the place. */
export const inRemovalTurn = async (
  { removals, clock }: Removing,
  { leave, signal }: Place,
  run: () => Promise<void>,
): Promise<void> => {
  leave()
  const { done } = await removals(async () => {
    signal.throwIfAborted()
    const over = Promise.withResolvers<void>()
    const cancel = clock.after(turnMs, over.resolve)
    const done = run().finally(() => {
      cancel()
      over.resolve()
    })
    await over.promise
    return { done }
  })
  await done
}
