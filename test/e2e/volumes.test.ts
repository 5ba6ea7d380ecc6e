/** Volumes through the real server, on the runtime that the host chooses. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { skipFile } from '../support/skip-file.ts'
import { volumesSuite } from '../support/volumes-suite.ts'

skipFile(whyNoMachines())
t.test('volumes', t => volumesSuite(t, 'auto'))
