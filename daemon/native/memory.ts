/** The daemon's own memory. */
import { lazy, loadAddon } from './load.ts'

const addon = lazy(() => loadAddon<{ limit(bytes: number): boolean }>('memory'))

/**
 * Sets a soft limit of V8's heap while it runs (a flag at start would cost V8's code caches). Near it V8 collects all it
 * can before it grows further. False when this V8 cannot.
 */
export const limitHeap = (bytes: number): boolean => addon().limit(bytes)
