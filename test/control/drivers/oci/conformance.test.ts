import { join } from 'node:path'
import t from 'tap'
import { driverSuite } from '../../../conformance/driver.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { filling, makeKit, openBox, sh } from '../../../support/oci.ts'

const why = whyNoMachines()
if (why) t.pass(`skipped: ${why}`, { skip: why })
else {
  const kit = makeKit(t.testdir())
  driverSuite(t, 'oci (runc)', async t => {
    const box = await openBox(t, kit)
    return {
      ...box,
      ...filling(t, kit),
      broken: id => box.spec(id, { rootfs: join(box.dataDir, 'no-such-image') }),
      async claimed(t, machine) {
        const { out } = await sh(
          machine,
          'hostname; cat /etc/hostname /etc/claim-test; tail -1 /etc/hosts; df -m /dev/shm | tail -1',
        )
        const [name, file, more, host = '', shm = ''] = out.split('\n')
        t.same([name, file, more], ['claimed', 'claimed', 'yes'])
        t.equal(host, `${machine.address?.host} claimed`)
        t.match(shm, / 256 .*\/dev\/shm/, 'half of the memory')
        t.equal((await sh(machine, 'stat -c %u:%a /etc/claim-test')).out, '0:644\n', "root's inside")
      },
    }
  })
}
