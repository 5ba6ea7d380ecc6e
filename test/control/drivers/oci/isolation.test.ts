import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())

/** With users of its own much is refused because root is nobody on the box; without, only the walls themselves do it. */
const rootIn = async (t: Test, runtime: string, userNamespaces: 'auto' | 'off'): Promise<void> => {
  const box = await openBox(t, kit, { runtime, settings: { slotsAhead: 1, userNamespaces } })
  const machine = await box.driver.create(
    box.spec('a', { hostname: 'my-box', env: { LD_PRELOAD: '/evil.so', NODE_OPTIONS: '--require /evil.js' } }),
  )
  const run = (line: string) => sh(machine, line)
  const fails = async (line: string, what: string) => t.not((await run(line)).code, 0, what)

  t.match((await run('hostname; cat /etc/hostname')).out, 'my-box\nmy-box\n')
  t.match((await run('cat /etc/hosts')).out, /^127\.0\.0\.1 localhost\n[^]*my-box$/m)
  t.match((await run('cat /etc/resolv.conf')).out, /^nameserver \d/)
  t.equal((await run('echo changed > /etc/hosts && echo new > /root/file && cat /root/file')).out, 'new\n')
  t.equal(existsSync(join(kit.rootfs, 'root/file')), false, 'the image is not written to')

  const environ = (await run('cat /proc/1/environ')).out
  t.notMatch(environ, /LD_PRELOAD=|NODE_OPTIONS=/, 'nothing of the tenant steers the first process')
  t.match(environ, /HUTCH_GUARDED_ENV_0=/)

  await fails('touch /.hutch/file', 'the bundle is read-only')
  await fails('echo 1 > /proc/sys/kernel/hostname', '/proc/sys is read-only')
  await fails('echo c > /proc/sysrq-trigger', 'the box cannot be crashed')
  await fails('mount -t tmpfs none /tmp', 'no mounts')
  await fails('unshare -U true', 'no new namespaces, by which capabilities come back')
  await fails('mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk', 'no device of the host')
  await fails('dmesg', 'no kernel log')
  t.match((await run('date -s "2030-01-01 00:00"')).out, /not permitted/, 'the clock of the box stays')
  const hidden = `keys timer_list kallsyms iomem interrupts slabinfo vmallocinfo kpageflags pagetypeinfo partitions softirqs cmdline kcore kmsg`
  for (const name of hidden.split(' '))
    t.equal((await run(`test ! -e /proc/${name} || head -c 1 /proc/${name}`)).out, '', `/proc/${name} is masked`)
  // There may be none on the box just now: test/programs/walls.py reads it while there are.
  const { out: mounts } = await run('cat /proc/self/mountinfo')
  t.match(mounts, / \/null \/proc\/locks /, 'nor are locks of files seen')
  for (const disks of ['/proc/diskstats', '/proc/fs', '/sys/fs/ext4', '/sys/devices/virtual/block'].filter(path =>
    existsSync(path),
  ))
    t.match(mounts, ` ${disks} `, 'nor the disks of others')
  t.equal((await run('cat /sys/block/loop*/loop/backing_file 2>/dev/null')).out, '', 'or where they are')
  await fails('echo 1 > /proc/sys/vm/drop_caches', 'the memory of the box is not ours')
  // With what is there already: where it works nothing is changed on the box.
  const again = (file: string) => `was=$(cat ${file}); echo "$was" > ${file}`
  await fails(again('/proc/sys/kernel/core_pattern'), 'no program of ours runs on the host')
  await fails(
    again('/proc/sys/net/ipv4/ip_forward'),
    'nor is its own network set up otherwise, which is its own users’',
  )
  await fails(again('/proc/irq/default_smp_affinity'), 'no interrupts')
  await fails('echo x > /sys/kernel/uevent_helper', '/sys is read-only')
  t.equal(
    (await run('ls -A /sys/firmware /sys/kernel/debug /sys/kernel/tracing /sys/fs/bpf 2>/dev/null')).out.match(
      /^[^/\n]+$/gm,
    ),
    null,
  )
  // A tree of a controller in version 1, the only tree in version 2.
  const groups = 'cd /sys/fs/cgroup; test ! -d memory || cd memory; test -e cgroup.procs || exit 0;'
  await fails(`${groups} mkdir mine`, 'no control group of its own')
  await fails('mkdir /sys/fs/cgroup/mine', 'nor anything beside them')
  await fails(`${groups} echo 1 > cgroup.procs`, 'no way out of its own')
  for (const name of ['devices.allow', 'memory.limit_in_bytes', 'memory.max', 'release_agent'])
    await fails(`find /sys/fs/cgroup -name ${name} | head -n 1 | { read f && echo -1 > $f; }`, name)
  t.equal((await run('ls /proc | awk "/^[0-9]+$/" | head -n 1')).out, '1\n', 'its own processes only')
  t.match((await run('cat /proc/self/status')).out, /Seccomp:\s+2/)
  const capabilities = BigInt(`0x${/CapBnd:\s+(\w+)/.exec((await run('cat /proc/self/status')).out)?.[1]}`)
  for (const [name, bit] of Object.entries({ SYS_ADMIN: 21n, SYS_PTRACE: 19n, SYS_MODULE: 16n, SYS_RAWIO: 17n }))
    t.equal((capabilities >> bit) & 1n, 0n, `no CAP_${name}`)
}

for (const runtime of ['runc', 'crun'] as const) {
  const skip = whyNoMachines(runtime) ?? false
  t.test(`what a tenant as root inside a machine can and cannot do (${runtime})`, { skip }, t =>
    rootIn(t, runtime, 'auto'),
  )
  t.test(`the same where machines share the users of the box (${runtime})`, { skip }, t => rootIn(t, runtime, 'off'))
}

t.test('memory, processes and processors of a machine are limited, and it survives its limits', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 1, pidsLimit: 100 } })
  const machine = await box.driver.create(box.spec('a', { memoryMb: 128, cpus: 0.5 }))
  const eaten = await sh(machine, 'dd if=/dev/zero of=/dev/null bs=400M count=1')
  t.not(eaten.code, 0, 'more memory than it has is not to be had')
  const many = await sh(
    machine,
    'n=0; while [ $n -lt 200 ]; do sleep 60 >/dev/null 2>&1 & n=$((n+1)); done 2>/dev/null; echo started $n',
  )
  t.notMatch(many.out, 'started 200', 'nor more processes')
  t.equal((await sh(machine, 'nproc')).out, '1\n', 'half a processor is on one')
  const listed = await box.driver.list()
  t.same(
    listed.map(({ phase }) => phase),
    ['running'],
  )
  await box.limit('a', { memoryMb: 1024, cpus: 2 })
  t.equal((await sh(machine, 'dd if=/dev/zero of=/dev/null bs=400M count=1')).code, 0, 'it can be given more')
})

t.test('a root file system whose /etc is a link does not lead the host anywhere', async t => {
  const { makeRootfs } = await import('../../../support/machine.ts')
  const { mkdirSync, readdirSync, rmSync, symlinkSync } = await import('node:fs')
  const dir = t.testdir()
  const rootfs = makeRootfs(join(dir, 'image'))
  const victim = join(dir, 'victim')
  mkdirSync(victim)
  rmSync(join(rootfs, 'etc'), { recursive: true })
  symlinkSync(victim, join(rootfs, 'etc'))
  const box = await openBox(t, { ...kit, rootfs })
  const machine = await box.driver.create(box.spec('a'))
  t.match((await sh(machine, 'cat /etc/hosts')).out, /localhost/)
  t.same(readdirSync(victim), [])
})
