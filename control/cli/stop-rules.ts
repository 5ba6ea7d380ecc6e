/** What a signal means for a server that may be stopping already. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'
export const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** One stop arrives more than once: make, npm and supervisors pass a signal on that the whole process group has got. */
const sameStopMs = 2_000

/**
 * Decides on each signal as it comes; `now` in ms, from any start. The first stops. A Ctrl-C that comes more than two
 * seconds after it is somebody who does not want to wait: it forces. Every other repeat is ignored.
 */
export const stopRules = (now: () => number): ((signal: StopSignal) => 'stop' | 'force' | 'ignore') => {
  let first: number | undefined
  return signal => {
    if (first === undefined) {
      first = now()
      return 'stop'
    }
    return signal === 'SIGINT' && now() - first > sameStopMs ? 'force' : 'ignore'
  }
}
