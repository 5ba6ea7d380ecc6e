/** V8's garbage collector at run time, and what the process holds: for whoever gives memory back when there is little to do. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Sets the flag at run time and resets it at once. On the command line it would make V8 reject the code caches of Node's own modules,
 * which doubles the time to start. Undefined when this V8 has no such function.
 */
export const exposedGc = (): typeof globalThis.gc => {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('globalThis.gc')
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}

/** Bytes of memory that the process has written and holds; files that are only mapped do not count, where the kernel tells them apart. */
export const heldBytes = (): number => {
  const kib = /^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
  return kib === undefined ? process.memoryUsage.rss() : Number(kib) * 1024
}
