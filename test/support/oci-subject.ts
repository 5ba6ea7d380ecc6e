/** What the conformance suite looks at where machines are real. */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Machine } from '../../control/drivers/driver.ts'
import type { Subject } from '../conformance/driver.ts'
import { filling, openBox, sh, type Kit } from './oci.ts'

const asClaimed = async (t: Test, machine: Machine): Promise<void> => {
  const { out } = await sh(
    machine,
    'hostname; cat /etc/hostname /etc/claim-test; tail -1 /etc/hosts; df -m /dev/shm | tail -1',
  )
  const [name, file, more, host = '', shm = ''] = out.split('\n')
  t.same([name, file, more], ['claimed', 'claimed', 'yes'])
  t.equal(host, `${machine.address?.host} claimed`)
  t.match(shm, / 256 .*\/dev\/shm/, 'half of the memory')
  t.equal((await sh(machine, 'stat -c %u:%a /etc/claim-test')).out, '0:644\n', "root's inside")
}

/** A file of the machine's memory: 24 MB that do not compress, and their sum beside them. */
const remembers = async (machine: Machine): Promise<boolean> => {
  const at = '/dev/shm/remembered'
  const write = `head -c 24000000 /dev/urandom > ${at}; md5sum ${at} > ${at}.sum`
  const { code } = await sh(machine, `[ -e ${at} ] || { ${write}; }; md5sum -c ${at}.sum`)
  return code === 0
}

export const ociSubject = async (t: Test, kit: Kit, runtime: 'runc' | 'crun' | 'runsc'): Promise<Subject> => {
  const box = await openBox(t, kit, { runtime })
  return {
    ...box,
    ...filling(t, kit),
    broken: id => box.spec(id, { rootfs: join(box.dataDir, 'no-such-image') }),
    claimed: asClaimed,
    remembers,
    tmp: async (machine, mb) =>
      (
        await sh(
          machine,
          mb > 0 ? `head -c ${mb}m /dev/zero > /tmp/fill && echo kept > /tmp/word; cat /tmp/word` : 'cat /tmp/word',
        )
      ).out,
  }
}
