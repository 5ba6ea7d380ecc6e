/** Keeps the daemon out of its tenants' reach: they share a pid namespace with it, and often a user id. */
import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Log } from '../../shared/log.ts'
import { guardSignal, ignoreFatalSignals, ignoreSignal, setDumpable } from '../native/sys/sys.ts'

/** `oom_score_adj` of the daemon and of what it starts for tenants: the kernel ends a tenant's process first. */
const daemonOomScore = -500
const oomFile = '/proc/self/oom_score_adj'
export const tenantOomScore = 500

/**
 * Makes this process untraceable, lets it ignore Node's debugger signal, and makes it the last victim of the OOM
 * killer. Call it first: after an upgrade tenants are running already. `pid` is ours; PID 1 also ignores every signal
 * that would end it.
 */
export const protectDaemon = (deps: { log: Log; pid: number }): void => {
  if (deps.pid === 1) ignoreFatalSignals()
  // /proc/1/mem, environ and fd then need a capability that tenants do not have.
  setDumpable(false)
  // On SIGUSR1 Node opens a debugger on a local port, which would hand the daemon to the sender.
  ignoreSignal(constants.signals.SIGUSR1)
  try {
    // The host has set a lower one, if it could; then nobody in the sandbox may be able to write there.
    if (Number(readFileSync(oomFile, 'latin1')) > daemonOomScore) writeFileSync(oomFile, String(daemonOomScore))
  } catch (error) {
    deps.log.info('oom.unprotected', { error, next: 'give the daemon CAP_SYS_RESOURCE to protect it' })
  }
}

const stops = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * From now on PID 1 takes the signals that stop it only from outside of its pid namespace. Call it after their handlers
 * are installed. Does nothing in any other process.
 */
export const guardStopSignals = (pid: number): void => {
  if (pid === 1) for (const name of stops) guardSignal(constants.signals[name])
}
