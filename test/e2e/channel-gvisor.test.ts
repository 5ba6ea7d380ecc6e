/** The channel between host and daemon, attacked by root of a sandbox, where the kernel is gVisor. */
import t from 'tap'
import { channelSuite } from '../support/channel-suite.ts'
import { whyNoMachines } from '../support/machine.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines('runsc'))

t.test('the channel on gVisor', t => channelSuite(t, 'runsc'))
