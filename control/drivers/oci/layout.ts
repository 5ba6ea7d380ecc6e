/** Where a machine keeps what on disk. The marker is written first and removed last. */
import { join } from 'node:path'
import { fail } from '../../../shared/errors.ts'
import type { Names } from './names.ts'

export interface MachineFiles {
  readonly dir: string
  readonly marker: string
  /** What the sandbox writes: the upper layer of the overlay. */
  readonly upper: string
  readonly work: string
  /** What its daemon keeps (`native/private-place.h`). */
  readonly private: string
  /** The file system that upper layer and work are in, where the machine has a disk of its own. */
  readonly disk: string
  /** The device that its disk was on when it last started. */
  readonly device: string
  /** Copies on their way into an upper layer of a version before. */
  readonly settling: string
  /** The whole copy, where the file system carries no overlay. */
  readonly root: string
  /** Output of the daemon and of the runtime while it starts. */
  readonly output: string
}

/** What is needed while a machine starts. It is in memory, as a busy disk takes longer to make files than to fill them, and gone when it has started. */
export interface StartFiles {
  readonly dir: string
  /** What the runtime is told, which looks for it by this name. */
  readonly config: string
  /** The host's files for /etc of a machine with a disk of its own. */
  readonly names: string
  /** The runtime's own log, JSON lines. */
  readonly runtimeLog: string
  /** Process id of what is starting the machine. */
  readonly starter: string
}

export const machinesDir = (dataDir: string): string => join(dataDir, 'machines')

/** Ids name directories, cgroups and containers: a short word that cannot climb. */
const validId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

const checkId = (id: string): void => {
  if (!validId.test(id))
    throw fail('invalid_argument', { field: 'id', reason: 'must be 1 to 64 letters, digits, "-" or "_"' })
}

/** Files of a start in a directory of its own. */
export const startFilesIn = (dir: string): StartFiles => ({
  dir,
  config: `${dir}/config.json`,
  names: `${dir}/names`,
  runtimeLog: `${dir}/runtime.log`,
  starter: `${dir}/starter`,
})

export const startFilesOf = ({ runDir }: Pick<Names, 'runDir'>, id: string): StartFiles => {
  checkId(id)
  return startFilesIn(`${runDir}/starts/${id}`)
}

export const filesOf = (dataDir: string, id: string): MachineFiles => {
  checkId(id)
  const dir = join(machinesDir(dataDir), id)
  // Each verb of each machine asks for all of it: joining each would take longer than opening the one that is meant.
  return {
    dir,
    marker: `${dir}/machine.json`,
    upper: `${dir}/upper`,
    work: `${dir}/work`,
    private: `${dir}/private`,
    disk: `${dir}/disk.img`,
    device: `${dir}/device`,
    settling: `${dir}/settling`,
    root: `${dir}/root`,
    output: `${dir}/output.log`,
  }
}
