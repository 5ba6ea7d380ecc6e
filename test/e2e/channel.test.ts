/** The channel between host and daemon, attacked by root of a sandbox. */
import t from 'tap'
import { channelSuite } from '../support/channel-suite.ts'
import { whyNoMachines } from '../support/machine.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

t.test('the channel', t => channelSuite(t, 'runc'))
