import { readdirSync } from 'node:fs'
import { kill } from '../native/sys/sys.ts'
import { readStat } from '../proc/stat.ts'

const SIGKILL = 9

/** Kills every process of the session that `leader` leads, whatever process group or terminal it is in. */
export const killSession = (leader: number): void => {
  for (const name of readdirSync('/proc'))
    if (/^\d+$/.test(name) && readStat(Number(name))?.session === leader) kill(Number(name), SIGKILL)
}
