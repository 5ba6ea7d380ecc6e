/** Machines made ahead of need of an image. In every run those of none are tried (generic.test.ts), which become what they are in the same way and more. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { skipFile } from '../support/skip-file.ts'
import { warmSuite } from '../support/warm-suite.ts'

skipFile(whyNoMachines())
await warmSuite(t, 'busybox')
