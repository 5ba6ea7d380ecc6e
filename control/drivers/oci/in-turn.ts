/** Machines start a few at a time, and none of them can make the others wait. */
import type { Context } from './context.ts'

/**
 * How long a machine that has begun keeps its turn while it is not up. A daemon is up sooner; one that never will be,
 * because of what a tenant has left for it, keeps nobody waiting longer.
 */
const settleMs = 250

/** Runs `begin` in a turn of its own, which ends when `up` has settled or takes long; then waits for `up` without it. */
export const inTurn = async (
  { starting, clock }: Pick<Context, 'starting' | 'clock'>,
  begin: () => Promise<void>,
  up: () => Promise<void>,
): Promise<void> => {
  const { rising } = await starting(async () => {
    await begin()
    const rising = up()
    const late = new AbortController()
    const settled = rising.catch(() => {
      // Thrown below, to whoever waits for the machine.
    })
    await Promise.race([settled, clock.sleep(settleMs, late.signal).catch(() => {})])
    late.abort()
    return { rising }
  })
  await rising
}
