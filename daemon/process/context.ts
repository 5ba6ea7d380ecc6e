import type { Clock } from '../../shared/clock.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Reaper } from '../init/reaper.ts'
import type { Journal } from './journal.ts'
import type { KeepAwake } from './keep-awake.ts'
import type { Capture } from './output/capture.ts'
import type { OutputLimits } from './output/limits.ts'
import type { Tailing } from './output/tailing.ts'
import type { MemoryKills } from './memory-kills.ts'
import type { Scratch } from './output/render.ts'
import type { OutputFilePools } from './output/file-pool.ts'
import type { Workload } from './spawn.ts'
import type { Room } from './room/room.ts'
import type { Table } from './table.ts'

export interface ProcessConfig extends OutputLimits {
  readonly logDir: string
  /** Only root can read it: journal and positions. */
  readonly stateDir: string
  /** Where relative working directories begin. */
  readonly cwd: string
  /** Bytes per stream in answers with the whole output. */
  readonly responseBytes: number
  /** Bytes per stream inlined in process objects. */
  readonly tailBytes: number
  readonly keepAlive: boolean
  /** Finished processes that stay listed; the oldest beyond it are forgotten, with their output. */
  readonly keepFinished: number
  /** Another daemon is in charge: shows what the journal says, and starts and changes nothing. */
  readonly rehearsal: boolean
}

/** What the functions of this folder share; made once, by `createSupervisor`. */
export interface ProcessContext {
  readonly config: ProcessConfig
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly reaper: Reaper
  readonly workload: Workload
  readonly journal: Journal
  readonly table: Table
  readonly tailing: Tailing
  /** Cuts the files of a process down to their share of the disk. */
  readonly cap: (capture: Capture) => void
  readonly scratch: Scratch
  readonly pools: OutputFilePools
  readonly keepAwake: Pick<KeepAwake, 'hold'>
  readonly memoryKills: MemoryKills
  readonly bootId: string
  readonly room: Room
}
