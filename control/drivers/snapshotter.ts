/**
 * Copies of what machines have written, kept apart from them.
 *
 * **Terms.** A *snapshot* is the files of one machine at one moment, without the image below them. Its `id` is chosen by us, like a
 * machine's. It is a *draft* until `commit` resolves: a draft is good for `remove` only. A committed snapshot never changes, and
 * outlives its machine, this process and a crash of the box.
 *
 * **Idempotency.** Every verb may be repeated, also after it failed half-way or the process died. `commit` of a committed snapshot
 * changes nothing. `remove` of one that is gone is done.
 *
 * **Errors.** As those of a driver; `no_room` when the disk has no room for a copy, `not_found` for a snapshot that is not there.
 */
export interface Snapshotter {
  /** How files are copied on this box, as tried at the start: `reflink` shares their blocks, `copy` reads and writes them. */
  readonly way: 'reflink' | 'copy'
  /** Takes room for a copy of what the machine has, and writes to the disk what the machine has written, so that `commit` is short. */
  prepare(id: string, machine: string, signal?: AbortSignal): Promise<void>
  /**
   * Copies what the machine has. `still` calls back while the machine stands still; what can be done afterwards is done afterwards.
   */
  commit(id: string, machine: string, still: Still, signal?: AbortSignal): Promise<Committed>
  /** Bytes that it takes of the disk; undefined when there is no such committed snapshot. */
  usage(id: string): Promise<number | undefined>
  /** Ids of all, drafts included. */
  list(): Promise<Listed[]>
  /** Gives a machine that is not there yet the files of a snapshot, with an identity of its own; the next `create` starts it with them. */
  mount(id: string, machine: string, signal?: AbortSignal): Promise<void>
  /**
   * Lays the files of a snapshot beside those of a machine. The next `create` of the machine starts it with them, and takes the
   * machine's own back when that fails: these go when a daemon has answered. The machine keeps its identity.
   */
  restore(id: string, machine: string, signal?: AbortSignal): Promise<void>
  /** Machines beside whose files others lie, wholly or in part, that no start has taken yet. */
  laid(): Promise<string[]>
  /** Takes away what `restore` has laid there. */
  forsake(machine: string): Promise<void>
  /** The snapshot whose files a machine has, since a `mount` or a `restore` of which a daemon has answered; undefined for none. */
  origin(machine: string): Promise<string | undefined>
  /** Everything that is in the snapshot and not in the image as it was. */
  view(id: string, signal?: AbortSignal): Promise<View>
  remove(id: string): Promise<void>
}

/** Runs a step while the machine stands still. */
export type Still = (step: () => Promise<void>) => Promise<void>

export interface Committed {
  /** How long the machine stood still, ms; 0 for one that did already. */
  readonly pauseMs: number
  readonly bytes: number
}

export interface Listed {
  readonly id: string
  readonly committed: boolean
}

export interface View {
  /** By path from the root of the machine, without a leading slash. */
  readonly files: ReadonlyMap<string, ViewedFile>
  /** There are more than a view holds. */
  readonly truncated: boolean
  /** The first bytes of the regular file of that path, at most so many; undefined for everything else. */
  read(path: string, most: number): Promise<Buffer | undefined>
}

export interface ViewedFile {
  /** `gone` hides what the image has there. */
  readonly type: 'file' | 'directory' | 'link' | 'other' | 'gone'
  readonly size: number
  /** Differs when the file does: its kind, mode, owner, size, time and target. */
  readonly mark: string
  /** A directory that hides all that the image has in it. */
  readonly opaque: boolean
}
