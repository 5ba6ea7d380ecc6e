/** The orderly end of everything in the machine: it is asked to end, once, and what is left is counted. */
import { readdirSync } from 'node:fs'
import type { Log } from '../../shared/log.ts'
import { kill } from '../native/sys/sys.ts'
import { readStat } from '../proc/stat.ts'
import type { Supervisor } from './supervisor.ts'

const SIGTERM = 15

export interface Termination {
  /** The first call sends SIGTERM to everything, and nothing is started again after its end. Answers how many processes are left. */
  begin(): { left: number }
}

const isAlive = (pid: number): boolean => !/^[ZX]$/.test(readStat(pid)?.state ?? 'X')

/** All but this one. */
const othersAlive = (): number =>
  readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && pid !== process.pid && isAlive(pid)).length

/** `alone`: this daemon is the first process of its machine, so that all others are its tenant's. */
export const createTermination = (deps: {
  supervisor: Pick<Supervisor, 'list' | 'letGo'>
  alone: boolean
  log: Log
}): Termination => {
  const { supervisor, alone, log } = deps
  const isRunning = () => supervisor.list().filter(({ record }) => record.status === 'running').length
  let begun = false
  return {
    begin() {
      if (!begun) {
        begun = true
        log.info('termination.begun', { running: isRunning() })
        supervisor.letGo({ signal: alone ? undefined : SIGTERM })
        if (alone) kill(-1, SIGTERM)
      }
      return { left: alone ? othersAlive() : isRunning() }
    },
  }
}
