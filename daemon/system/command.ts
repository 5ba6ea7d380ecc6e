/** The command of `-c`: runs beside the API, is not listed, and ends with the daemon. */
import type { Log } from '../../shared/log.ts'
import type { Reaper } from '../init/reaper.ts'
import { kill } from '../native/sys/sys.ts'
import { launch, type Workload } from '../process/spawn.ts'

const SIGTERM = 15
const directory = '/'

export interface Command {
  /** Undefined when it has ended. */
  pid(): number | undefined
  /** Ends it and its process group. */
  stop(): void
}

/**
 * Starts it as tenants' processes are started, or follows `running`, the pid that an earlier daemon left. A failure to
 * start is only logged.
 */
export const startCommand = (
  command: string,
  running: number | undefined,
  deps: { log: Log; reaper: Pick<Reaper, 'watch'>; workload: Workload },
): Command => {
  const { log, reaper, workload } = deps
  let current = running
  try {
    // Its output goes where the daemon's log goes.
    const descriptors = [-1, 1, 2] as const
    const pid =
      running ?? launch(workload, { command, workingDir: directory, givenDir: directory, env: {}, descriptors })
    current = pid
    log.info('command.started', { pid })
    reaper.watch(pid, ({ exitCode, signal }) => {
      current = undefined
      log.info('command.ended', { pid, exitCode, signal })
    })
  } catch (error) {
    log.error('command.failed', { error })
  }
  return {
    pid: () => current,
    stop() {
      if (current !== undefined) kill(-current, SIGTERM)
    },
  }
}
