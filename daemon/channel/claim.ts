/**
 * A daemon that was started for nobody becomes somebody's. Where what it is told differs only in what a daemon follows while it
 * runs, it takes that and is told nothing else; for all other settings everything of it is closed, what it wrote is removed,
 * and it is made anew in the same process, as if it had just started: no setting needs a way of its own to change.
 */
import { rmSync } from 'node:fs'
import { fail } from '../../shared/errors.ts'
import type { BootDocument, Claiming } from '../../shared/wire/host.ts'
import type { Config } from '../config/config.ts'

/** Throws `wrong_state` for a daemon that is somebody's, and what a start with that configuration throws. */
export type Claim = (claiming: Claiming) => Promise<void>

/** `become` makes the daemon that there is one by this document, or another one in its place. */
export const createClaim = (boot: BootDocument | undefined, become: (next: BootDocument) => Promise<void>): Claim => {
  let anonymous = boot?.machine.anonymous === true
  return async ({ memoryBytes, ...configuration }) => {
    if (!boot || !anonymous)
      throw fail('wrong_state', { kind: 'daemon', name: boot?.machine.id ?? '', state: 'claimed', wanted: 'a claim' })
    anonymous = false
    const { anonymous: _, ...machine } = boot.machine
    await become({ ...boot, machine: { ...machine, memoryBytes }, configuration })
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
