/** Where a machine keeps what on disk. The marker is written first and removed last. */
import { join } from 'node:path'
import { fail } from '../../../shared/errors.ts'

export interface MachineFiles {
  readonly dir: string
  readonly marker: string
  /** What the sandbox writes: the upper layer of the overlay. */
  readonly upper: string
  readonly work: string
  /** Of a machine that nests: for what cannot lie on an overlay. */
  readonly store: string
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
  /** Output of the daemon and of the runtime while it starts, in memory (`outputs.ts`). */
  readonly output: string
  /** The own log of a runtime that says little elsewhere, JSON lines. */
  readonly runtimeLog: string
  /** Process id of what is starting the machine. */
  readonly starter: string
}

/** In a machine's directory, on its disk where that is a file. */
export const storeName = 'store'

export const machinesDir = (dataDir: string): string => join(dataDir, 'machines')

/** A link to where outputs are. */
export const outputsDir = (dataDir: string): string => `${dataDir}/outputs`

/** Where the output was in versions before. */
export const earlierOutput = ({ dir }: Pick<MachineFiles, 'dir'>): string => `${dir}/output.log`

/** Ids name directories, cgroups and containers: a short word that cannot climb. */
const validId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export const isMachineId = (id: string): boolean => validId.test(id)

export const filesOf = (dataDir: string, id: string): MachineFiles => {
  if (!isMachineId(id))
    throw fail('invalid_argument', { field: 'id', reason: 'must be 1 to 64 letters, digits, "-" or "_"' })
  const dir = join(machinesDir(dataDir), id)
  // Each verb of each machine asks for all of it: joining each would take longer than opening the one that is meant.
  return {
    dir,
    marker: `${dir}/machine.json`,
    upper: `${dir}/upper`,
    work: `${dir}/work`,
    store: `${dir}/${storeName}`,
    private: `${dir}/private`,
    disk: `${dir}/disk.img`,
    device: `${dir}/device`,
    settling: `${dir}/settling`,
    root: `${dir}/root`,
    output: `${outputsDir(dataDir)}/${id}.log`,
    runtimeLog: `${dir}/runtime.log`,
    starter: `${dir}/starter`,
  }
}
