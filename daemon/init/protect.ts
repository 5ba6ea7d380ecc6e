/** Keeps the daemon out of its tenants' reach: they share a pid namespace with it, and often a user id. */
import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Log } from '../../shared/log.ts'
import { guardSignal, ignoreSignal, setDumpable } from '../native/sys.ts'

/** `oom_score_adj` of the daemon and of what it starts for tenants: the kernel ends a tenant's process first. */
export const daemonOomScore = -500
export const tenantOomScore = 500

const stops = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Makes this process untraceable, the last victim of the OOM killer, and deaf to tenants' signals. Call it after the
 * handlers of SIGTERM and SIGINT are installed. `pid` is ours: only PID 1 tells inside from outside by the sender.
 */
export const protectDaemon = (deps: { log: Log; pid: number }): void => {
  const { log, pid } = deps
  try {
    writeFileSync('/proc/self/oom_score_adj', String(daemonOomScore))
  } catch (error) {
    log.info('oom.unprotected', { error, next: 'give the daemon CAP_SYS_RESOURCE to protect it' })
  }
  // /proc/1/mem, environ and fd then need a capability that tenants do not have.
  setDumpable(false)
  // Node answers SIGUSR1 with a debugger on a local port, which would hand the daemon to whoever sent it.
  ignoreSignal(constants.signals.SIGUSR1)
  if (pid === 1) for (const name of stops) guardSignal(constants.signals[name])
}
