/** What whoever operates a host asks of the database as a whole. */

/** How many there are of a kind in a status. */
export interface Tallied {
  readonly kind: string
  readonly status: string
  readonly count: number
}

export interface Upkeep {
  /** Commits a row of its own. Throws `unavailable` or `busy` with what keeps the database from being written. */
  tryWriting(): Promise<void>
  /** Writes the database, as it is at one moment, into a new file. Others read and write on. */
  copyTo(path: string): Promise<void>
  /**
   * Replaces each stored text with sealed values in it for which `change` gives another one; resources some hundred at a time, and who has read
   * one before has to read it again to write it. A value that is stored by itself is given as JSON, too.
   */
  rewrite(change: (body: string) => string | undefined): Promise<void>
  /** What is wrong with each row that cannot be read, a sentence each. Reads all rows of resources and instances, keys and workspaces. */
  unreadable(): Promise<readonly string[]>
  /** Resources of these kinds by status, and all instances by the kind of their owner and status. */
  tally(kinds: readonly string[]): Promise<{ readonly resources: Tallied[]; readonly instances: Tallied[] }>
}
