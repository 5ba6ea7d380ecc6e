/** Sandboxes of one VPC reach each other and nobody else. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { whyNoMachines } from '../support/machine.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { vpcSuite } from '../support/vpc-suite.ts'

const why = whyNoMachines() ?? whyNoInternet()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}
enterOwnNetwork()
t.setTimeout(240_000)
t.test('networks of sandboxes', t => vpcSuite(t, 'runc'))
