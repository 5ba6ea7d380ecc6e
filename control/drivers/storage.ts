/** What machines may write, and have written. */

/** Machines may write what they were promised and no more, and what is promised is there. Verbs throw `no_room` when it is not. */
export interface Storage {
  /** How much one that was made `anonymous` may be promised when it is claimed, MB. */
  readonly claimableMb: number
  room(): Promise<Room>
  /** What a machine's files take of the box, and may take; undefined for one that is gone, or that was promised nothing. */
  share(id: string): Promise<Share | undefined>
  /**
   * Lets a machine that runs write so much, MB, at once; where that takes a start of its own, its next one does it. One that has as much, or does
   * not run, stays as it is.
   */
  grow(id: string, mb: number): Promise<void>
}

export interface Share {
  readonly usedBytes: number
  readonly mostBytes: number
}

export interface Room {
  /** What may still be promised, MB; below 0 when others have filled the disk. */
  readonly freeMb: number
  /** What machines have of the disk, MB. */
  readonly usedMb: number
  /** MB by machine. */
  readonly promised: ReadonlyMap<string, number>
}
