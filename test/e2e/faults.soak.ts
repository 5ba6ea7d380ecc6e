/** Every call of a server that makes, changes, copies and removes sandboxes on crun, or on `RUNTIME`, killed and failed. */
import t from 'tap'
import { faultsSuite } from '../support/faults-suite.ts'
import { whyNoMachines } from '../support/machine.ts'

const runtime = process.env['RUNTIME'] ?? 'crun'
const why = whyNoMachines(runtime)
if (why) t.pass(`skipped: ${why}`, { skip: why })
else t.test('every call', t => faultsSuite(t, runtime))
