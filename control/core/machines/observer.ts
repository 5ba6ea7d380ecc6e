/** Told how long machines took, as it happens. */
export interface Observer {
  /**
   * A machine is up: made (`create`), one that was made ahead of need (`claim`), or started again with its files (`restart`).
   * `ms` since it was asked for; of a restart, since the start that worked began.
   */
  started(way: 'create' | 'claim' | 'restart', ms: number): void
  /** One that slept has been resumed, in `ms`. */
  woke(ms: number): void
}
