/** What leaves a sandbox is what its owner allowed, also where the tenant is the daemon, on gVisor. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { hijackedSuite } from '../support/hijacked-suite.ts'
import { whyNoMachines } from '../support/machine.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines('runsc') ?? whyNoInternet())
enterOwnNetwork()
t.setTimeout(600_000)
t.test('outbound policies against a daemon that is the tenant', t => hijackedSuite(t, 'runsc'))
