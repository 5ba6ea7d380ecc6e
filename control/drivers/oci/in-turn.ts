/** Machines start a few at a time, and none of them can make the others wait. */
import type { Context } from './context.ts'

/**
 * How long a machine that has begun keeps its turn while it is not up. A daemon is up sooner; one that never will be,
 * because of what a tenant has left for it, keeps nobody waiting longer.
 */
const settleMs = 250

/**
 * Runs `begin` in a turn of its own, which ends when `up` has settled or takes long; then `up` is waited for without it, which `onRising` is
 * told.
 */
export const inTurn = async (
  { starting, clock }: Pick<Context, 'starting' | 'clock'>,
  { begin, up, onRising }: { begin(): Promise<void>; up(): Promise<void>; onRising?: (() => void) | undefined },
): Promise<void> => {
  const { rising, isLate } = await starting(async () => {
    await begin()
    const rising = up()
    const over = new AbortController()
    const settled = rising.then(
      () => false,
      // Thrown below, to whoever waits for the machine.
      () => false,
    )
    const late = clock.sleep(settleMs, over.signal).then(
      () => true,
      () => false,
    )
    const isLate = await Promise.race([settled, late])
    over.abort()
    return { rising, isLate }
  })
  if (isLate) onRising?.()
  await rising
}
