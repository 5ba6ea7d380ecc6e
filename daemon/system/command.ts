/** The command of `-c`: runs beside the API, is not listed, and ends with the daemon. */
import type { Exit } from '../init/reaper.ts'
import type { Log } from '../../shared/log.ts'

export interface CommandDeps {
  readonly log: Log
  /** Starts a shell command in a directory as tenants' processes are started, output to the daemon's log; gives its pid. */
  readonly spawn: (command: string, directory: string) => number
  readonly watch: (pid: number, ended: (exit: Exit) => void) => () => void
  /** Signals the process group of a pid; false when there is none. */
  readonly signalGroup: (pid: number, signal: number) => boolean
}

const SIGTERM = 15

/** Starts it; the returned function ends it. A command that cannot start is logged and stops nobody. */
export const startCommand = (command: string, deps: CommandDeps): (() => void) => {
  const { log, spawn, watch, signalGroup } = deps
  try {
    let running = true
    const pid = spawn(command, '/')
    log.info('command.started', { pid })
    watch(pid, ({ exitCode, signal }) => {
      running = false
      log.info('command.ended', { pid, exitCode, signal })
    })
    return () => {
      if (running) signalGroup(pid, SIGTERM)
    }
  } catch (error) {
    log.error('command.failed', { error })
    return () => {}
  }
}
