/** What leaves a sandbox is what its owner allowed, where the kernel is the box's. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { whyNoMachines } from '../support/machine.ts'
import { outboundSuite } from '../support/outbound-suite.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines() ?? whyNoInternet())
enterOwnNetwork()
t.setTimeout(300_000)
t.test('outbound policies of sandboxes', t => outboundSuite(t, 'runc'))
