/** The channel between host and daemon, attacked by root of a sandbox, where the kernel is gVisor. */
import t from 'tap'
import { channelSuite } from '../support/channel-suite.ts'
import { whyNoMachines } from '../support/machine.ts'

const why = whyNoMachines('runsc')
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

t.test('the channel on gVisor', t => channelSuite(t, 'runsc'))
