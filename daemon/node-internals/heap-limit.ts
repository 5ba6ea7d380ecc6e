import { setHeapLimit } from '../native/memory/memory.ts'

/**
 * Sets a soft limit of V8's heap while it runs; a flag on the command line would cost V8's code caches. Near the limit V8
 * collects all it can before it grows further. False when this V8 cannot.
 */
export const limitHeap = (bytes: number): boolean => setHeapLimit(bytes)
