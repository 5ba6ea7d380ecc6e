/** The daemon's own memory. */
import { lazy, loadAddon } from '../load.ts'

interface MemoryAddon {
  limit(bytes: number): boolean
  trim(): number
  unmap(): number
}

const addon = lazy(() => loadAddon<MemoryAddon>('memory'))

/** Sets a soft limit of V8's heap; false when this V8 cannot. For `node-internals/heap-limit.ts`. */
export const setHeapLimit = (bytes: number): boolean => addon().limit(bytes)

/**
 * Gives free pages of the C library's heap back, and unmaps the code and constants of programs: they stay in the
 * system's cache and come back by the piece, without a copy, when they are used.
 */
export const releaseMemory = (): void => {
  addon().trim()
  addon().unmap()
}
