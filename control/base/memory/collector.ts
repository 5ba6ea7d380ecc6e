/** V8's garbage collector and the C library's, for `tidy.ts`. */
import { join } from 'node:path'
import { exposedGc, heldBytes } from '../../../shared/collector.ts'
import { nativeAddon } from '../native-addon.ts'
import type { Collector } from './tidy.ts'

const addon = nativeAddon<{ trim(): Promise<void> }>(join(import.meta.dirname, 'build/trim.node'))

export const createCollector = (): Collector => {
  const gc = exposedGc()
  return {
    heldBytes,
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
