/** The command of `-c`: runs beside the API, is not listed, and ends with the daemon. */
import type { Log } from '../../shared/log.ts'
import type { Reaper } from '../init/reaper.ts'
import { kill } from '../native/sys.ts'
import { launch, type Workload } from '../process/spawn.ts'

const SIGTERM = 15
const directory = '/'

/** Starts it as tenants' processes are started; the returned function ends it. One that cannot start is only logged. */
export const startCommand = (
  command: string,
  deps: { log: Log; reaper: Pick<Reaper, 'watch'>; workload: Workload },
): (() => void) => {
  const { log, reaper, workload } = deps
  let running: number | undefined
  try {
    // Its output goes where the daemon's log goes.
    const descriptors = [-1, 1, 2] as const
    const pid = launch(workload, { command, workingDir: directory, givenDir: directory, env: {}, descriptors })
    running = pid
    log.info('command.started', { pid })
    reaper.watch(pid, ({ exitCode, signal }) => {
      running = undefined
      log.info('command.ended', { pid, exitCode, signal })
    })
  } catch (error) {
    log.error('command.failed', { error })
  }
  return () => {
    if (running !== undefined) kill(-running, SIGTERM)
  }
}
