/**
 * A backup goes from disks that are files to a box with project quotas of XFS and back, in a virtual machine of QEMU with Debian's own kernel,
 * and root of a sandbox on XFS tries to leave its quota.
 */
import t, { type Test } from 'tap'
import { skipFile } from '../support/skip-file.ts'
import { openVm, whyNoVm } from '../support/vm-box.ts'
import { serveIn, type VmServer } from '../support/vm-server.ts'

skipFile(whyNoVm())
const vm = await openVm(t)
await vm.ok('mkfs.xfs -q -f /dev/vdb && mkdir -p /mnt/xfs && mount -o prjquota /dev/vdb /mnt/xfs')

const make = async (s: VmServer, name: string): Promise<void> => {
  const spec = { runtime: { image: 'busybox', memory: 256, storageMb: 48 } }
  const { status } = await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })
  if (status !== 200) throw new Error(`create ${name}: ${status}`)
  await s.until(name, ({ body }) => body.status === 'DEPLOYED')
}

const files = [
  'mkdir -p /srv/deep',
  'head -c 6000000 /dev/urandom > /srv/deep/noise',
  'ln /srv/deep/noise /srv/linked',
  'ln -s deep /srv/pointer',
  'chown 7:8 /srv/linked',
  'chmod 4751 /srv/linked',
  'rm /etc/passwd',
].join('; ')
const shown =
  'cd /srv; md5sum deep/noise linked; stat -c "%n %F %u %g %a %h" * deep/*; readlink pointer; ls /etc/passwd 2>&1'

/** What fits besides what is there, and what the API shows of it. */
const isBounded = async (t: Test, s: VmServer, name: string): Promise<void> => {
  const said = await s.exec(name, 'exec 2>&1; echo begun; sync; dd if=/dev/zero of=/fill bs=64k; sync; ls -l /fill')
  t.match(said, /No space left on device|Disk quota exceeded/, name)
  const [, bytes] = / (\d{7,}) /.exec(said.slice(said.indexOf('-rw'))) ?? []
  t.ok(Number(bytes) < 49 * 1024 ** 2 && Number(bytes) > 24 * 1024 ** 2, said)
  const { body } = await s.call('GET', `/v0/sandboxes/${name}/usage`)
  t.equal(body.diskLimitBytes, 48 * 1024 ** 2)
  t.ok(body.diskBytes >= Number(bytes), JSON.stringify(body))
  // A command would need room for its logs.
  t.equal((await s.call('DELETE', `/default/sandboxes/${name}/filesystem//fill`)).status, 200)
}

/** Ends the server, and starts another one in `to` with all that the first had. */
const moved = async (from: string, to: string): Promise<VmServer> => {
  await vm.ok(`HUTCH_DATA_DIR=${from} node control/main.ts backup /root/backup.tar`, 300)
  await vm.ok('systemctl disable --now hutch; rm /etc/systemd/system/hutch.service', 120)
  await vm.ok(`HUTCH_DATA_DIR=${to} node control/main.ts restore /root/backup.tar && rm /root/backup.tar`, 300)
  return serveIn(vm, to, { HUTCH_STANDBY_SECONDS: '600' })
}

const [first, second, third] = ['/var/lib/hutch', '/mnt/xfs/hutch', '/var/lib/back'] as const
const one = await serveIn(vm, first, { HUTCH_STANDBY_SECONDS: '600' })
await make(one, 'file')
await one.exec('file', files)
const before = await one.exec('file', shown)
const two = await moved(first, second)

await t.test('from disks that are files to a box with project quotas', async t => {
  t.match(before, /noise/)
  await two.until('file', ({ body }) => body.status === 'DEPLOYED')
  t.equal(await two.exec('file', shown), before, 'the disk stays a file')
  await isBounded(t, two, 'file')
  await make(two, 'project')
  await two.exec('project', files)
  await isBounded(t, two, 'project')
  // Besides, the server keeps two that were made ahead of need.
  const counts = `echo $(ls ${second}/machines | wc -l) $(bash test/programs/projects.sh /mnt/xfs | grep -Ec '^#[0-9]{10} ')`
  t.equal((await two.said(counts, /^4 3$/)).trim(), '4 3', 'all but that one are counted by their numbers')
  const written = (await vm.ok('bash test/programs/projects.sh /mnt/xfs'))
    .split('\n')
    .filter(line => !/^#\d+ +0 /.test(line))
  t.equal(written.length, 1, 'and one has written something')
})

await t.test('root of a sandbox on XFS cannot leave the quota', async t => {
  await vm.ok('gcc -static -O2 -o /run/leave-project test/programs/leave-project.c')
  const asBox =
    "cd $(mktemp -dp /mnt/xfs) && xfs_io -c 'chproj 77' -c 'chattr +P' . && cp /run/leave-project . && chroot . /leave-project && rm -r $PWD"
  t.match(await vm.ok(asBox), /^left by the number 0 of \/leaves$/m, 'root of the box can')
  const put = `curl -s -o /dev/null -w '%{http_code}' -T /run/leave-project -H 'content-type: application/octet-stream' -H "authorization: Bearer $(cat ${second}/admin-key)" http://127.0.0.1:8090/default/sandboxes/project/filesystem//srv/leave-project`
  t.equal(await vm.ok(put), '200')
  t.equal(await two.exec('project', 'chmod +x /srv/leave-project; id -u; /srv/leave-project'), '0\ntried 15\n')
  await two.exec('project', 'rm /srv/leave-project')
})

await t.test('and back to a box that has none', async t => {
  const was = await two.exec('project', shown)
  const three = await moved(second, third)
  for (const [name, text] of [
    ['file', before],
    ['project', was],
  ] as const) {
    await three.until(name, ({ body }) => body.status === 'DEPLOYED')
    t.equal(await three.exec(name, shown), text, name)
    await isBounded(t, three, name)
  }
  for (const name of ['file', 'project']) {
    t.equal((await three.call('DELETE', `/v0/sandboxes/${name}`)).status, 200)
    await three.until(name, ({ status, body }) => status === 404 || body.status === 'TERMINATED')
  }
})
