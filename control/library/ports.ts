/** What the library needs of the host; the composition root provides it, and nothing else of it is used. */

/** Where the daemon of a sandbox answers. */
export interface Upstream {
  readonly host: string
  readonly port: number
}

/**
 * Waits until the sandbox is up, wakes it, and keeps it awake until `release` is called.
 * Rejects when it does not exist any more or cannot come up.
 */
export type Hold = (uid: string, signal: AbortSignal) => Promise<{ upstream: Upstream; release: () => void }>
