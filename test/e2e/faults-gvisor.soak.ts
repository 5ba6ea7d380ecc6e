/** Every call of a server that makes, changes, copies and removes sandboxes on gVisor, killed and failed. */
import t from 'tap'
import { faultsSuite } from '../support/faults-suite.ts'
import { whyNoMachines } from '../support/machine.ts'

const why = whyNoMachines('runsc')
if (why) t.pass(`skipped: ${why}`, { skip: why })
else t.test('every call', t => faultsSuite(t, 'runsc'))
