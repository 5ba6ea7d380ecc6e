/** Sandboxes of one VPC reach each other and nobody else. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { whyNoMachines } from '../support/machine.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { vpcSuite } from '../support/vpc-suite.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines() ?? whyNoInternet())
enterOwnNetwork()
t.setTimeout(240_000)
t.test('networks of sandboxes', t => vpcSuite(t, 'runc'))
