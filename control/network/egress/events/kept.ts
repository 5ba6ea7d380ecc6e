/** Where decisions outlive the process. Lines are JSON; what cannot be kept is lost, and never stops a connection. */

export interface KeptLines {
  /** The last ones, oldest first. */
  load(): readonly unknown[]
  append(values: readonly object[]): void
}

export interface Kept {
  readonly events: KeptLines
  readonly seen: KeptLines
}

/** For whoever keeps nothing. */
export const nothingKept: Kept = {
  events: { load: () => [], append() {} },
  seen: { load: () => [], append() {} },
}
