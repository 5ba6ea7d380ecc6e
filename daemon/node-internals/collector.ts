/** V8's garbage collector and the C library's, for `memory/idle-gc.ts`. */
import { exposedGc, heldBytes } from '../../shared/collector.ts'
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

/** Where V8 has no `gc`, only the C library's memory is released. */
export const createCollector = (): Collector => {
  const collect = exposedGc() ?? (() => {})
  return {
    young: () => void collect({ type: 'minor' }),
    old: () => void collect({ type: 'major', execution: 'sync' }),
    all: () => void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    release: releaseMemory,
    held: heldBytes,
  }
}
