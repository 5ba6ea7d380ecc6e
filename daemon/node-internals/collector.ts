/** V8's collector and the C library's, for ../memory/idle-gc.ts. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { releaseMemory } from '../native/memory/memory.ts'

export interface Collector {
  /** What was allocated since the last time; a millisecond. */
  young(): void
  /** Also what has lived longer; some milliseconds. */
  old(): void
  /** All; tens of milliseconds. */
  all(): void
  /** Gives free pages back to the system, and those of programs that can be read again. */
  release(): void
  /** Bytes that the daemon has written and holds: what is mapped from files does not count. */
  held(): number
}

/**
 * Without a flag on the command line: a flag other than the default makes V8 reject the code caches of Node's own
 * modules, which doubles the time to start. The flag is back at its default at once.
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
      // Other kernels do not tell it apart.
      return kib === undefined ? process.memoryUsage.rss() : Number(kib) * 1024
    },
  }
}
