/** The memory of machines that sleep on is given back to the box, one machine's at a time. */
import type { Context, Entry } from './context.ts'

/** Has it done when the machine has slept for as long as its rule says, unless it is wanted before. */
export const reclaimLater = ({ clock, drivers, log, reclaiming }: Context, entry: Entry, driver: string): void => {
  const afterMs = entry.rule?.reclaimAfterMs
  const freezer = drivers.need(driver).freezer
  if (afterMs === undefined || !freezer?.reclaim) return
  const wanted = new AbortController()
  const { signal } = wanted
  entry.wanted?.abort()
  entry.wanted = wanted
  const cancel = clock.after(afterMs, () => {
    const reclaim = async () => {
      if (!signal.aborted) await freezer.reclaim?.(entry.id, signal)
    }
    reclaiming(reclaim).catch((error: unknown) => log.warn('standby.reclaim.failed', { instance: entry.id, error }))
  })
  signal.addEventListener('abort', cancel, { once: true })
}
