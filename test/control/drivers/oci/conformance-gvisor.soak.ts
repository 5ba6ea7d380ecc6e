/** All that a driver promises, on gVisor; some of it is in every run (`runsc.test.ts`). */
import t from 'tap'
import { driverSuite } from '../../../conformance/driver.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { ociSubject } from '../../../support/oci-subject.ts'
import { makeKit } from '../../../support/oci.ts'

const why = whyNoMachines('runsc')
if (why) t.pass(`skipped: ${why}`, { skip: why })
else {
  const kit = makeKit(t.testdir())
  driverSuite(t, 'oci (runsc)', t => ociSubject(t, kit, 'runsc'))
}
