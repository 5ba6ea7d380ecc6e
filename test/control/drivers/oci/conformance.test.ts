import t from 'tap'
import { driverSuite } from '../../../conformance/driver.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { ociSubject } from '../../../support/oci-subject.ts'
import { makeKit } from '../../../support/oci.ts'

for (const runtime of ['runc', 'crun'] as const) {
  const why = whyNoMachines(runtime)
  if (why) t.pass(`skipped: ${why}`, { skip: why })
  else {
    const kit = makeKit(t.testdir())
    driverSuite(t, `oci (${runtime})`, t => ociSubject(t, kit, runtime))
  }
}
