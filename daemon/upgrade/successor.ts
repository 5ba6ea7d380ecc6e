/** A part of the daemon whose clients are disconnected before the daemon is replaced. */
export interface HandoverSource<T> {
  /** Resolves with a function that returns the state for the next daemon, as it is when that function is called. */
  disconnect(): Promise<() => readonly T[]>
  /** The replacement failed: clients may connect again. */
  acceptClients(): void
}
