/** Machines made ahead of need of no image, given to sandboxes of one. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { skipFile } from '../support/skip-file.ts'
import { warmSuite } from '../support/warm-suite.ts'

skipFile(whyNoMachines())
await warmSuite(t, '*')
