/** What leaves a sandbox is what its owner allowed, where the kernel is the box's. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { whyNoMachines } from '../support/machine.ts'
import { outboundSuite } from '../support/outbound-suite.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'

const why = whyNoMachines() ?? whyNoInternet()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}
enterOwnNetwork()
t.setTimeout(300_000)
t.test('outbound policies of sandboxes', t => outboundSuite(t, 'runc'))
