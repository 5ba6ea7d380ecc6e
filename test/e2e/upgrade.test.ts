/** The daemon of a running sandbox is replaced. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { olderMachine } from '../support/older-machine.ts'
import { upgradeSuite } from '../support/upgrade-suite.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines('runc'))

t.test('an upgrade inside a sandbox', t => upgradeSuite(t, 'runc'))
t.test('a machine from before the channel', olderMachine)
