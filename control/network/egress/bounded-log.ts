/** What sandboxes and their servers can cause again and again must not fill this host's log. */
import type { Log } from '../../../shared/log.ts'
import { createRate } from './rate.ts'

const burst = 20
const perSecond = 1 / 3

/** Errors: so many a minute, each with how many were left out since the last. The rest as it comes. */
export const boundedLog = (log: Log, deps: { now: () => number }): Log => {
  const rate = createRate(deps, burst, perSecond)
  let leftOut = 0
  return {
    ...log,
    error(event, fields) {
      if (!rate.take()) return void leftOut++
      log.error(event, leftOut > 0 ? { ...fields, leftOut } : fields)
      leftOut = 0
    },
  }
}
