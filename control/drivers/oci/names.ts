/**
 * Every name this instance leaves on the box is computed from its tag, so that several hosts run side by side and what
 * a dead one left can be told from what is alive.
 */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface Names {
  /** Eight hex digits of the data directory's path. */
  readonly tag: string
  /** `h<tag>-`, before the slot number: 15 bytes at most with it (IFNAMSIZ). */
  readonly interfacePrefix: string
  readonly netnsPrefix: string
  /** Name of the firewall chains, in every table. */
  readonly chain: string
  /** Parent cgroup of the machines, below the mount of each hierarchy. */
  readonly cgroup: string
  /** Volatile state: `/run/hutch/<tag>`. */
  readonly runDir: string
}

/** Where instances register; the address blocks of all of them are claimed in `blocks/`. */
export const registryDir = '/run/hutch'

/** Where a machine that starts has its mounts put together, each in a mount namespace of its own; empty to all others. */
export const stageDir = join(registryDir, 'stage')

/** Makes the stage's place, open to the root of a machine that starts, who is nobody on the box. */
export const openStage = async (): Promise<void> => {
  for (const directory of [registryDir, stageDir]) {
    await mkdir(directory, { recursive: true })
    await chmod(directory, 0o755)
  }
}

export const namesOf = (tag: string): Names => ({
  tag,
  interfacePrefix: `h${tag}-`,
  netnsPrefix: `hutch-${tag}-`,
  chain: `HUTCH-${tag}`,
  cgroup: `hutch-${tag}`,
  runDir: join(registryDir, tag),
})

/** The tag of a data directory that exists; the same through any symbolic link. */
export const tagOf = (dataDir: string): string =>
  createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 8)
