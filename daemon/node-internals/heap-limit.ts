import { setHeapLimit } from '../native/memory/memory.ts'

/**
 * Sets a soft limit of V8's heap at run time, since a flag on the command line would make V8 reject its code caches.
 * Near the limit V8 collects all it can before it grows further. False when this V8 has no such functions.
 */
export const limitHeap = (bytes: number): boolean => setHeapLimit(bytes)
