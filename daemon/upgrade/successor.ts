/** A part of the daemon with clients of its own, who are told before the daemon is replaced. */
export interface HandsOver<T> {
  /** Disconnects the clients. The function it resolves with gives the state for the next daemon, as of its call. */
  leave(): Promise<() => readonly T[]>
  /** The replacement failed: clients may connect again. */
  stay(): void
}
