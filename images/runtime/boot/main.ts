/** `node /.hutch/daemon/boot.js [flags of hutchd]`: starts the bundled daemon. */
import { loader } from './loader.ts'
import { rest } from './rest.ts'

const collect = globalThis.gc
// The daemon's own code has no business with it.
Reflect.deleteProperty(globalThis, 'gc')
loader(__dirname).load('main.js')
if (collect) rest(() => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
