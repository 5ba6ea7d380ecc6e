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

/** Removes what the daemon before has made and this one does not use; in what both use there is nothing of nobody's. */
export const removeTraces = (before: Writes, now: Writes): void => {
  for (const path of written(before)) if (!written(now).includes(path)) rmSync(path, { recursive: true, force: true })
}
