/** A part of the daemon with clients of its own, who are told before the daemon is replaced. */
export interface HandsOver<T> {
  /** Sends the clients away; what it resolves with gives, when it is called, what the next daemon goes on with. */
  leave(): Promise<() => readonly T[]>
  /** The replacement failed: clients are welcome again. */
  stay(): void
}
