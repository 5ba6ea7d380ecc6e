/** V8's garbage collector and the C library's, for `tidy.ts`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nativeAddon } from '../native-addon.ts'
import type { Collector } from './tidy.ts'

const addon = nativeAddon<{ trim(): Promise<void> }>(join(import.meta.dirname, 'build/trim.node'))

/** V8 has the function while the flag is set; undefined when this V8 has none. */
const exposedGc = (): typeof globalThis.gc => {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('globalThis.gc')
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}

export const createCollector = (): Collector => {
  const gc = exposedGc()
  return {
    heldBytes() {
      const kib = /^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
      return kib === undefined ? process.memoryUsage.rss() : Number(kib) * 1024
    },
    cpuMs() {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
    async collect() {
      void gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      await addon().trim()
    },
  }
}
