/** Debian's own kernel (6.1) with systemd and version-2 control groups, as most boxes have: in a virtual machine of QEMU. */
import t, { type Test } from 'tap'
import { openVm, whyNoVm } from '../support/vm-box.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoVm())

const vm = await openVm(t)
const { ok } = vm

/** Both quotas by project, each on half of the spare disk. Made before the first test: tap ends the file, and so the machine, when none has begun a moment after one has ended. */
const quotas = [
  ['ext4', '--offset 3G', 'mkfs.ext4 -q -F -O quota,project'],
  ['xfs', '', 'mkfs.xfs -q -f'],
] as const
for (const [kind, place, make] of quotas)
  await ok(
    `device=$(losetup -f --show ${place} --sizelimit 3G /dev/vdb) && ${make} $device && mkdir -p /mnt/${kind} && mount -o prjquota $device /mnt/${kind}`,
  )

await t.test('the box has version 2 alone, and the doctor finds that sandboxes can run there', async t => {
  const kind = await ok('stat -fc %T /sys/fs/cgroup; uname -r')
  t.match(kind, /^cgroup2fs\s+6\.1\./)
  t.comment(kind)
  const { out, code } = await vm.run('HUTCH_DATA_DIR=/var/lib/hutch node control/main.ts doctor', 600)
  t.equal(code, 0, out)
  for (const line of [
    'control groups: version 2',
    'crun starts a container',
    'runc starts a container',
    'users of their own',
    'a disk of its own',
  ])
    t.match(out, new RegExp(`^  ok +${line}`, 'm'), line)
  t.match(out, /an ext4 file on a loop device/, 'this file system has no project quotas')
})

/** Runs a test in the machine, with what it makes below `where`. */
const inside = (where: string) =>
  `TMPDIR=${where} TAP_TIMEOUT=2400 timeout 2400 node --disable-warning=ExperimentalWarning`

/** The driver's conformance suite with its data below `where`; answers how many points passed. */
const conforms = async (t: Test, where: string): Promise<void> => {
  const suite = 'test/control/drivers/oci/conformance.test.ts'
  const run = `${inside(where)} ${suite} >/run/suite 2>&1`
  const { code } = await vm.run(`${run}; code=$?; losetup -ln -O BACK-FILE | grep -v /dev/vdb; exit $code`, 2500)
  const { out } = await vm.run('cat /run/suite')
  t.equal(code, 0, out.slice(-6_000))
  const passed = out.match(/^ +ok /gm)?.length ?? 0
  t.ok(passed > 75, `${passed} points`)
  t.notMatch(out, /# SKIP/)
  t.comment(`${where}: ${passed} points`)
}

await t.test('the driver keeps what it promises, with disks that are files', t => conforms(t, '/var/tmp'))

for (const [kind] of quotas)
  await t.test(`and with project quotas of ${kind}`, async t => {
    await ok(`mkdir -p /mnt/${kind}/doctor`)
    const said = await ok(`HUTCH_DATA_DIR=/mnt/${kind}/doctor node control/main.ts doctor`, 600)
    t.match(said, /^ {2}ok +a disk of its own.*by project quotas of the file system, full when it was full/m)
    await conforms(t, `/mnt/${kind}`)
    t.equal(await ok(`bash test/programs/projects.sh /mnt/${kind}`), '', 'no project has bounds or files any more')
  })
