import { join } from 'node:path'
import t from 'tap'
import { driverSuite } from '../../../conformance/driver.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox } from '../../../support/oci.ts'

const why = whyNoMachines()
if (why) t.pass(`skipped: ${why}`, { skip: why })
else {
  const kit = makeKit(t.testdir())
  driverSuite(t, 'oci (runc)', async t => {
    const box = await openBox(t, kit)
    return { ...box, broken: id => box.spec(id, { rootfs: join(box.dataDir, 'no-such-image') }) }
  })
}
