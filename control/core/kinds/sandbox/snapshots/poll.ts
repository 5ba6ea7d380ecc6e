/** Something that is done from time to time, and soon after somebody asked for it; one run at a time. */
import type { Clock } from '../../../../../shared/clock.ts'

export interface Poll {
  soon(): void
  /** Ends it, once the run under way is over. */
  close(): Promise<void>
}

export const poll = (run: () => Promise<void>, { clock, everyMs }: { clock: Clock; everyMs: number }): Poll => {
  let under: Promise<void> | undefined
  let again = false
  let closed = false
  const begin = (): void => {
    if (closed) return
    if (under) {
      again = true
      return
    }
    again = false
    under = run().finally(() => {
      under = undefined
      if (again) begin()
    })
  }
  const stop = clock.every(everyMs, begin)
  return {
    soon: begin,
    async close() {
      closed = true
      stop()
      await under
    },
  }
}
