/** The daemon of a running sandbox is replaced, where the kernel is gVisor: pipes, terminals and sockets are its own. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { upgradeSuite } from '../support/upgrade-suite.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines('runsc'))

t.test('an upgrade inside a sandbox of gVisor', t => upgradeSuite(t, 'runsc'))
