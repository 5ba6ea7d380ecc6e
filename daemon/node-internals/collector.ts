/** V8's garbage collector and the C library's, for `memory/idle-gc.ts`. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { releaseMemory } from '../native/memory/memory.ts'

export interface Collector {
  /** Collects what was allocated recently; a millisecond. */
  young(): void
  /** Collects older objects too; some milliseconds. */
  old(): void
  /** Collects everything; tens of milliseconds. */
  all(): void
  /** Gives free pages back to the system, and unmaps program code, which is read again when it is used. */
  release(): void
  /** Bytes of memory that the daemon has written and holds; files that are only mapped do not count. */
  held(): number
}

/**
 * Not by a flag on the command line: one that is not the default makes V8 reject the code caches of Node's own modules,
 * which doubles the time to start. Here the flag has its default again at once.
 */
export const createCollector = (): Collector => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NonNullable<typeof globalThis.gc>
  setFlagsFromString('--no-expose-gc')
  return {
    young: () => void collect({ type: 'minor' }),
    old: () => void collect({ type: 'major', execution: 'sync' }),
    all: () => void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    release: releaseMemory,
    held() {
      const kib = /^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
      // Some kernels do not show it apart.
      return kib === undefined ? process.memoryUsage.rss() : Number(kib) * 1024
    },
  }
}
