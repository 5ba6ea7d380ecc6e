/** Disks that outlive machines: the driver keeps their files, and shows them in the machine that has them attached. */

export interface MachineVolume {
  /** Chosen by us: the record's uid, or a word for one that is the machine's own. */
  readonly id: string
  /** Absolute and clean; nothing of the host is below it, and none of another volume. */
  readonly mountPath: string
  readonly readOnly: boolean
  /** A new one is made with it, and an older one that is smaller grows to it. */
  readonly sizeMb: number
  /** It is the machine's own and goes with it. */
  readonly ephemeral: boolean
}

/**
 * Verbs may be repeated. A volume is made by the first machine that has it attached, or by `fill`. Machines that want one which another
 * machine still has wait for that one to let go, and fail after a while: who may attach what is not the driver's to know.
 */
export interface Volumes {
  /** Throws `driver_failed` with what to do when this box cannot carry volumes. */
  check(): Promise<void>
  /** Keeps so much of the disk for it, MB. Throws `no_room`. */
  promise(id: string, mb: number): Promise<void>
  /** Makes one of `mb` with the contents of the directory `from`, unless it is there. Throws `driver_failed`, `no_room`. */
  fill(id: string, mb: number, from: string, signal?: AbortSignal): Promise<void>
  /** Gives back its file and what was kept for it; done when there is none. */
  remove(id: string): Promise<void>
  /** Ids of all that have files. */
  list(): Promise<string[]>
  /** Files of those that no machine has, as names below the data directory. */
  filesOf(id: string): readonly string[]
}
