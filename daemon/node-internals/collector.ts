/** V8's garbage collector and the C library's, for `memory/idle-gc.ts`. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { releaseMemory } from '../native/memory/memory.ts'

export interface Collector {
  /** Collects recently allocated objects; takes a millisecond. */
  young(): void
  /** Collects older objects too; takes some milliseconds. */
  old(): void
  /** Collects everything; takes tens of milliseconds. */
  all(): void
  /** Gives free pages back to the system, and unmaps program code, which is read again when it is used. */
  release(): void
  /** Bytes of memory that the daemon has written and holds; files that are only mapped do not count. */
  held(): number
}

/**
 * Sets the flag at run time and resets it at once. On the command line it would make V8 reject the code caches of
 * Node's own modules, which doubles the time to start. Undefined when this V8 has no such function.
 */
const exposeGc = (): typeof globalThis.gc => {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('globalThis.gc')
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}

/** Where V8 has no `gc`, only the C library's memory is released. */
export const createCollector = (): Collector => {
  const collect = exposeGc() ?? (() => {})
  return {
    young: () => void collect({ type: 'minor' }),
    old: () => void collect({ type: 'major', execution: 'sync' }),
    all: () => void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    release: releaseMemory,
    held() {
      const kib = /^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
      // Some kernels have no such field.
      return kib === undefined ? process.memoryUsage.rss() : Number(kib) * 1024
    },
  }
}
