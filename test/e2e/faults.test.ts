/** Calls of a real server that kill it or fail: a sample on runc and on gVisor; all of them are in the soaks. */
import t from 'tap'
import { faultsSuite } from '../support/faults-suite.ts'
import { whyNoMachines } from '../support/machine.ts'

for (const runtime of ['runc', 'runsc'] as const) {
  const why = whyNoMachines(runtime)
  if (why) t.pass(`skipped: ${why}`, { skip: why })
  else t.test(`on ${runtime}`, t => faultsSuite(t, runtime))
}
