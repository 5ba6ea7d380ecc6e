/** The channel between host and daemon, attacked by root of a sandbox. */
import t from 'tap'
import { channelSuite } from '../support/channel-suite.ts'
import { whyNoMachines } from '../support/machine.ts'

const why = whyNoMachines()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

t.test('the channel', t => channelSuite(t, 'runc'))
