/** Machines start, and become somebody's, a few at a time, and none of them can make the others wait. */
import type { Context } from './context.ts'

/**
 * How long a machine that has begun keeps its turn while it is not up. A daemon is up sooner; one that never will be,
 * because of what a tenant has left for it, keeps nobody waiting longer.
 */
const settleMs = 250

/** Runs `begin` in one of `turns`, which ends when `up` has settled or takes long; then waits for `up` without it. */
export const inTurn = async <T>(
  { turns, clock }: { turns: Context['starting'] } & Pick<Context, 'clock'>,
  begin: () => Promise<void>,
  up: () => Promise<T>,
): Promise<T> => {
  const { rising } = await turns(async () => {
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
  return rising
}
