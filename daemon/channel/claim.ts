/**
 * A daemon that was started for nobody becomes somebody's: everything of it is closed, what it wrote is removed, and it is
 * made anew in the same process by what the host says, as if it had just started. So nothing that is configured can be
 * left of the time before, and no setting needs a way of its own to change.
 */
import { rmSync } from 'node:fs'
import { fail } from '../../shared/errors.ts'
import type { BootDocument, Configuration } from '../../shared/wire/host.ts'
import type { Config } from '../config/config.ts'

/** Throws `wrong_state` for a daemon that is somebody's, and what a start with that configuration throws. */
export type Claim = (configuration: Configuration) => Promise<void>

/** `become` closes the daemon that there is and makes one by this document. */
export const createClaim = (boot: BootDocument | undefined, become: (next: BootDocument) => Promise<void>): Claim => {
  let anonymous = boot?.machine.anonymous === true
  return async configuration => {
    if (!boot || !anonymous)
      throw fail('wrong_state', { kind: 'daemon', name: boot?.machine.id ?? '', state: 'claimed', wanted: 'a claim' })
    anonymous = false
    await become({ ...boot, machine: { id: boot.machine.id }, configuration })
  }
}

type Writes = Pick<Config, 'logs' | 'stateDir' | 'stateFile' | 'proxyStateFile'>

const written = ({ logs, stateDir, stateFile, proxyStateFile }: Writes): string[] => [
  logs.dir,
  stateDir,
  stateFile,
  proxyStateFile,
]

/** Removes what a daemon has made that is closed; with `now`, what this one uses stays: before a claim there is nothing in it. */
export const removeTraces = (before: Writes, now?: Writes): void => {
  const used = now ? written(now) : []
  for (const path of written(before)) if (!used.includes(path)) rmSync(path, { recursive: true, force: true })
}
