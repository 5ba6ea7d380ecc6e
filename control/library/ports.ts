/** What the library needs of the host; the composition root provides it, and nothing else of it is used. */

import type { Upstream } from '../gateway/resolve.ts'

export type { Upstream }

/**
 * Waits until the sandbox is up, wakes it, and keeps it awake until `release` is called.
 * Rejects when it does not exist any more or cannot come up.
 */
export type Hold = (uid: string, signal: AbortSignal) => Promise<{ upstream: Upstream; release: () => void }>
