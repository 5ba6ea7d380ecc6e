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
 * Gives free pages of the C library's heap back to the system, and unmaps the code and constants of programs. Those
 * stay in the system's page cache; each page is mapped again, without a copy, when it is used.
 */
export const releaseMemory = (): void => {
  addon().trim()
  addon().unmap()
}
