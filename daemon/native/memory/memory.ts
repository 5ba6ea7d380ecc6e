/** The daemon's own memory. */
import { lazy, loadAddon } from '../load.ts'

interface MemoryAddon {
  limit(bytes: number): boolean
  trim(): number
  unmap(): number
}

const addon = lazy(() => loadAddon<MemoryAddon>('memory'))

/**
 * Sets a soft limit of V8's heap while it runs (a flag at start would cost V8's code caches). Near it V8 collects all it
 * can before it grows further. False when this V8 cannot.
 */
export const limitHeap = (bytes: number): boolean => addon().limit(bytes)

/**
 * Gives free pages of the C library's heap back, and unmaps the code and constants of programs: they stay in the
 * system's cache and come back by the piece, without a copy, when they are used.
 */
export const releaseMemory = (): void => {
  addon().trim()
  addon().unmap()
}
