/** `node /.hutch/daemon/boot.js [flags of hutchd]`: starts the bundled daemon. */
import { loader } from './loader.ts'

loader(__dirname).load('main.js')
