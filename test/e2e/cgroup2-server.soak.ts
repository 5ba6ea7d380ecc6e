/**
 * A whole server under systemd on Debian's own kernel, with version-2 control groups and project quotas of ext4, in a virtual machine of
 * QEMU: what a user does with it, and what is there after the power was lost.
 */
import t from 'tap'
import { openVm, whyNoVm } from '../support/vm-box.ts'
import { serveIn } from '../support/vm-server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoVm())

const dataDir = '/var/lib/hutch/data'
const vm = await openVm(t)
await vm.ok(
  `mkfs.ext4 -q -F -O quota,project /dev/vdb && mkdir -p /var/lib/hutch && echo '/dev/vdb /var/lib/hutch ext4 prjquota 0 2' >>/etc/fstab && mount /var/lib/hutch`,
)
const s = await serveIn(vm, dataDir, { HUTCH_STANDBY_SECONDS: '5', HUTCH_WARM: 'busybox=1' })

const create = async (name: string, runtime: object = {}) => {
  const spec = { runtime: { image: 'busybox', memory: 256, ...runtime } }
  return s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })
}
const isUp = (name: string) => s.until(name, ({ body }) => body.status === 'DEPLOYED')
const ready = (count: number) =>
  s.said(
    `curl -s -H "authorization: Bearer $(cat ${dataDir}/admin-key)" http://127.0.0.1:8090/v0/warm-pools | jq -M '.pools[0].ready'`,
    new RegExp(`^${count}$`),
  )
/** What the driver has on the box, from the box itself. */
const machines = async (): Promise<number> => Number(await vm.ok(`ls ${dataDir}/machines | wc -l`))
const frozen = () =>
  s.said(`cat $(find /sys/fs/cgroup -path '*hutch*' -name cgroup.events) | grep -c 'frozen 1'`, /^[1-9]/)

await t.test('what its user does: create, claim, commands, files, sleep, wake, limits, delete', async t => {
  await ready(1)
  const before = await machines()
  t.equal((await create('a')).status, 200)
  await isUp('a')
  t.ok((await machines()) - before <= 1, 'it got the machine that was made ahead')
  t.equal(await s.exec('a', 'echo $((6 * 7)); hostname'), '42\na\n')
  const written = await s.call('PUT', '/default/sandboxes/a/filesystem//srv/hello', { content: 'from outside\n' })
  t.equal(written.status, 200)
  t.equal(await s.exec('a', 'cat /srv/hello; echo from inside >> /srv/hello; sync'), 'from outside\n')
  const read = await s.call('GET', '/default/sandboxes/a/filesystem//srv/hello')
  t.match(read, { status: 200, body: { content: 'from outside\nfrom inside\n' } })
  await frozen()
  t.equal(await s.exec('a', 'cat /srv/hello'), 'from outside\nfrom inside\n', 'woken')
  const memory = await s.exec('a', 'dd if=/dev/zero of=/dev/null bs=400M count=1 || echo refused; echo done')
  t.match(memory, /done/)
  t.notMatch(memory, /^419430400/, 'memory has an end')
  t.equal((await create('small', { storageMb: 32 })).status, 200)
  await isUp('small')
  const disk = await s.exec(
    'small',
    // What it says is in a file that has its first block before the disk is full.
    'exec 2>&1; echo begun; sync; dd if=/dev/zero of=/fill bs=64k; df -m / | tail -n 1; rm /fill; echo more > /more && cat /more',
  )
  t.match(disk, /No space left on device|Disk quota exceeded/)
  t.match(disk, /\s32\s+3[12]\s/, 'df knows')
  t.match(disk, /more\n$/, 'what is deleted can be written again')
  const larger = { metadata: { name: 'small' }, spec: { runtime: { image: 'busybox', memory: 256, storageMb: 64 } } }
  t.equal((await s.call('PUT', '/v0/sandboxes/small', larger)).status, 200)
  t.match(await s.exec('small', 'df -m / | tail -n 1; cat /more'), /\s64\s[^]*more\n$/, 'it grows at once, as it is')
  t.equal((await s.call('DELETE', '/v0/sandboxes/small')).status, 200)
  await s.until('small', ({ status, body }) => status === 404 || body.status === 'TERMINATED')
})

await t.test('root of a sandbox cannot leave the quota', async t => {
  await vm.ok('gcc -static -O2 -o /run/leave-project test/programs/leave-project.c')
  const asBox =
    'cd $(mktemp -dp /var/lib/hutch) && chattr -p 77 +P . && cp /run/leave-project . && chroot . /leave-project && rm -r $PWD'
  t.match(await vm.ok(asBox), /^left by the number 0 of \/leaves$/m, 'root of the box can')
  const put = `curl -s -o /dev/null -w '%{http_code}' -T /run/leave-project -H 'content-type: application/octet-stream' -H "authorization: Bearer $(cat ${dataDir}/admin-key)" http://127.0.0.1:8090/default/sandboxes/a/filesystem//srv/leave-project`
  t.equal(await vm.ok(put), '200')
  t.equal(await s.exec('a', 'chmod +x /srv/leave-project; id -u; /srv/leave-project'), '0\ntried 15\n')
})

await t.test('the power is lost: what ran, what slept and what was made ahead', async t => {
  t.equal((await create('busy')).status, 200)
  await isUp('busy')
  const kept = { command: 'while sleep 1; do echo on; done', name: 'on', keepAlive: true }
  t.equal((await s.call('POST', '/default/sandboxes/busy/process', kept)).status, 200)
  await s.exec('busy', 'mkdir -p /srv && echo mine > /srv/mine && sync && echo written')
  await ready(1)
  await frozen()
  const projects = await vm.ok('bash test/programs/projects.sh /var/lib/hutch | cut -d" " -f1 | sort')
  await vm.reset()
  await s.up()
  t.equal(await vm.ok('systemctl is-active hutch'), 'active', 'by itself')
  for (const [name, file, text] of [
    ['a', '/srv/hello', 'from outside\nfrom inside\n'],
    ['busy', '/srv/mine', 'mine\n'],
  ] as const) {
    await isUp(name)
    t.equal(await s.exec(name, `cat ${file}`), text, `${name} has its files`)
  }
  const all = await s.call('GET', '/v0/sandboxes')
  t.same(
    ((all.body.data ?? all.body) as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name).toSorted(),
    ['a', 'busy'],
  )
  await ready(1)
  const bill = `import { twice, withStore } from './test/support/bill.ts'; const all = await withStore('${dataDir}', async store => (await Promise.all((await store.instances.every()).map(({ id }) => store.meter.intervals(id)))).flat()); console.log(JSON.stringify([all.length > 0, twice(all)]))`
  t.equal(
    await vm.ok(`node --disable-warning=ExperimentalWarning --input-type=module-typescript -e "${bill}"`),
    '[true,[]]',
    'nothing is billed twice',
  )
  t.ok(projects.length > 0)
  t.equal(await vm.ok(`ls ${dataDir}/machines | wc -l`), '3', 'two, and one made ahead')
})

/** Sets the box up again as a restore on another one does: files with no project. */
const copied = `for machine in ${dataDir}/machines/*; do cd $machine; cp -a upper copy; rm -rf upper; mv copy upper; done; lsattr -pd ${dataDir}/machines/*/upper`

await t.test('files that come from elsewhere are bounded again', async t => {
  await vm.ok('systemctl -q disable --now hutch', 120)
  await vm.reset()
  for (const line of (await vm.ok(copied, 300)).split('\n')) t.match(line, /^ *0 /)
  await vm.ok('systemctl -q enable --now hutch', 120)
  await s.up()
  await isUp('a')
  t.equal(
    await s.exec('a', 'cat /srv/hello; df -m / | tail -n 1 | tr -s " " | cut -d" " -f2'),
    'from outside\nfrom inside\n128\n',
  )
  await isUp('busy')
  t.equal(await s.exec('busy', 'cat /srv/mine'), 'mine\n')
})

await t.test('with the last sandbox and the server gone, nothing is left', async t => {
  for (const name of ['a', 'busy']) {
    t.equal((await s.call('DELETE', `/v0/sandboxes/${name}`)).status, 200)
    await s.until(name, ({ status, body }) => status === 404 || body.status === 'TERMINATED')
  }
  await vm.ok('systemctl stop hutch', 120)
  // The pool's machine outlives the server, and goes with the pool.
  await vm.ok(
    `sed -i s/busybox=1// /etc/systemd/system/hutch.service && systemctl daemon-reload && systemctl start hutch`,
    120,
  )
  await s.up()
  await s.said(`ls ${dataDir}/machines | wc -l`, /^0$/)
  await vm.ok('systemctl stop hutch', 120)
  t.equal(await vm.ok('bash test/programs/projects.sh /var/lib/hutch'), '', 'no project has files or bounds')
  t.equal(
    await vm.ok(
      'losetup -ln; ls /run/netns; ls /run/hutch | grep -vE "^(blocks|ids|stage)"; grep -c hutch /proc/mounts | grep -v 1; iptables-save | grep -i hutch; true',
    ),
    '',
  )
})
