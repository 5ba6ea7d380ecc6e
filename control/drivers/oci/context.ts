/** What the verbs of the driver share; opened once in `index.ts`. */
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Bundle } from './bundle.ts'
import type { Disks } from './disk/open.ts'
import type { Hierarchy } from './cgroup/hierarchy.ts'
import type { QuickMoves } from './cgroup/quick-moves.ts'
import type { Names } from './names.ts'
import type { Network } from '../../base/config/ipv4.ts'
import type { Outbound } from './net/outbound.ts'
import type { Slots } from './net/slots.ts'
import type { Privileges } from './privileges.ts'
import type { Views } from './view/views.ts'

export interface Runtime {
  readonly name: string
  readonly file: string
  /** Global flags, the directory of its state among them. */
  readonly args: readonly string[]
  readonly stateDir: string
}

export interface Context {
  readonly dataDir: string
  readonly names: Names
  readonly runtime: Runtime
  readonly bundleDir: string
  readonly bundle: Bundle
  /** Directory of bundles that machines may upgrade to, if there is one. */
  readonly releasesDir: string | undefined
  readonly hierarchy: Hierarchy
  readonly slots: Slots
  readonly block: Network
  readonly resolvers: readonly string[]
  /** Undefined where machines cannot be held to a policy. */
  readonly outbound: Outbound | undefined
  /** False when the data directory's file system carries no overlay: roots are copies then. */
  readonly overlay: boolean
  readonly disks: Disks
  /** Copies of files in the data directory share their blocks. */
  readonly shareBlocks: boolean
  readonly pidsLimit: number
  /** Asynchronous I/O has room for all machines. */
  readonly aio: boolean
  /** Refuses what cannot have users of its own, instead of making do without. */
  readonly ownUsersRequired: boolean
  /** Says which file of an image belongs to somebody who cannot be in a machine with users of its own, if one does. */
  readonly strangerInImage: (image: string) => Promise<string | undefined>
  readonly privileges: Privileges
  /** Undefined where machines have a kernel of their own, which shows them what is theirs. */
  readonly views: Views | undefined
  readonly quickMoves: QuickMoves
  /** Limits how many machines start at the same time. */
  readonly starting: <T>(task: () => Promise<T>) => Promise<T>
  readonly log: Log
  readonly clock: Clock
}

/** The machine's control group below the mount of each hierarchy. */
export const groupOf = (names: Names, id: string): string => join(names.cgroup, id)
