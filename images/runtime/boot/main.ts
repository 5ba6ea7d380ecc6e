/** `node /.hutch/daemon/boot.js [flags of hutchd]`: starts the bundled daemon. */
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { loader } from './loader.ts'
import { rest, type Collector } from './rest.ts'

const addon: { exports: { trim?(): void } } = { exports: {} }
// First of all, so that the C library makes no further arenas for the threads that come.
process.dlopen(addon, join(__dirname, 'native/memory.node'))

/**
 * V8's collector, without a flag on the command line: a flag other than the default makes V8 reject the code
 * caches of Node's own modules, which doubles the time to start. The flag is back at its default at once.
 */
const collector = (): Collector => {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NonNullable<typeof globalThis.gc>
  setFlagsFromString('--no-expose-gc')
  return {
    young: () => void collect({ type: 'minor' }),
    old: () => void collect({ type: 'major', execution: 'sync' }),
    all() {
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      addon.exports.trim?.()
    },
  }
}

loader(__dirname).load('main.js')
rest(collector)
