import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { errno } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { tryLock } from '../native/sys/sys.ts'

/** Keeps the machine from sleeping while somebody holds it. */
export interface KeepAwake {
  /** Processes that keep the machine awake now. */
  readonly held: number
  /** Counts one up; the returned function counts it down, once however often it is called. */
  hold(): () => void
}

const lockTries = 200
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK

/** The counter file of the platform: `+`, `-` and `=0`; where its directory does not exist there is no platform. */
export const createKeepAwake = (deps: { path: string; enabled: boolean; log: Log }): KeepAwake => {
  const { path, enabled, log } = deps
  let held = 0
  const write = (text: string): void => {
    if (!enabled) return
    let fd: number | undefined
    try {
      fd = openSync(path, flags, 0o644)
      // Somebody else holds the lock for one write only.
      for (let tries = 0; tries < lockTries && !tryLock(fd); tries++);
      writeSync(fd, text)
    } catch (error) {
      if (errno(error) !== 'ENOENT') log.warn('keep-awake.failed', { error, text })
    } finally {
      if (fd !== undefined) closeSync(fd)
    }
  }
  write('=0')
  return {
    get held() {
      return held
    },
    hold() {
      held++
      write('+')
      let done = false
      return () => {
        if (done) return
        done = true
        held--
        write('-')
      }
    },
  }
}
