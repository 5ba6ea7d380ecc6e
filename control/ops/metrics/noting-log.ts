import type { Log } from '../../../shared/log.ts'
import type { Metrics } from './metrics.ts'

/** The same log; warnings and errors are counted by their events, of which there are as many as there are places that log. */
export const notingLog = (log: Log, noted: Metrics['noted']): Log => ({
  debug: (event, fields) => log.debug(event, fields),
  info: (event, fields) => log.info(event, fields),
  warn(event, fields) {
    noted('warn', event)
    log.warn(event, fields)
  },
  error(event, fields) {
    noted('error', event)
    log.error(event, fields)
  },
  with: fields => notingLog(log.with(fields), noted),
})
