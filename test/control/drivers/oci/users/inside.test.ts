/** A machine with users of its own: who its users are outside, and what its root can still do inside. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Machine } from '../../../../../control/drivers/driver.ts'
import { openHierarchy } from '../../../../../control/drivers/oci/cgroup/hierarchy.ts'
import { processesIn } from '../../../../../control/drivers/oci/cgroup/processes.ts'
import { readMarker } from '../../../../../control/drivers/oci/marker.ts'
import { inUpper } from '../../../../support/machine-files.ts'
import { makeKit, openBox, sh, type Box } from '../../../../support/oci.ts'
import { whyNoOwnUsers } from '../../../../support/users.ts'
import { skipFile } from '../../../../support/skip-file.ts'

skipFile(await whyNoOwnUsers(t.testdir()))

const kit = makeKit(t.testdir())
const out = async (machine: Machine, line: string): Promise<string> => (await sh(machine, line)).out

const firstIdOf = async (box: Box, id: string): Promise<number> => {
  const marker = await readMarker(join(box.dataDir, 'machines', id, 'machine.json'))
  return marker?.firstId ?? Number.NaN
}

/** Real users of the machine's processes, as the box sees them. */
const usersOf = async (box: Box, id: string): Promise<string[]> => {
  const pids = await processesIn(await openHierarchy(), join(box.names.cgroup, id))
  return pids.map(pid => /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '')
}

t.test('root inside is nobody outside, and nobody of another machine', async t => {
  const box = await openBox(t, kit)
  const [a, b] = (await Promise.all(['a', 'b'].map(id => box.driver.create(box.spec(id))))) as [Machine, Machine]
  const [first, other] = await Promise.all(['a', 'b'].map(id => firstIdOf(box, id)))
  t.ok(
    first && first >= 2 ** 29 && other && Math.abs(first - other) >= 65_536,
    `ranges of their own: ${first}, ${other}`,
  )
  t.match(await out(a, 'cat /proc/self/uid_map /proc/self/gid_map'), new RegExp(`^(\\s+0\\s+${first}\\s+65536\\n){2}$`))
  t.same(await usersOf(box, 'a'), [`${first}\t${first}\t${first}\t${first}`])
  t.equal(await out(b, 'id -u'), '0\n')

  await out(a, 'echo mine > /root/file; touch /root/theirs; chown 1000:100 /root/theirs; mkdir /srv; chown 65535 /srv')
  const owners = inUpper(box.dataDir, 'a', ['stat', '--format', '%u:%g', 'root/file', 'root/theirs', 'srv'])
  t.equal(owners, '0:0\n1000:100\n65535:0\n')
  t.match(await out(a, 'ls -ln /root/file /root/theirs /bin/busybox'), /0 +0 [^]*1000 +100 /)
  t.notMatch(await out(a, 'ls -lnR /bin /etc /dev/null /dev/net/tun'), /6553[34]/, "nothing is nobody's")
  t.notMatch(await out(a, 'ls -lnR /.hutch'), / 0 +0 /, "but for the bundle, which is the box's")
  t.match((await sh(a, 'chown 65536 /root/file')).code, 1, 'there are no more')
})

t.test('what its root sets up in its own network', async t => {
  const box = await openBox(t, toolKit(t))
  const machine = await box.driver.create(box.spec('a'))
  const tool = (line: string) =>
    sh(
      machine,
      `export PATH=/.hutch/bin:$PATH XTABLES_LIBDIR=/.hutch/lib/xtables XTABLES_LOCKFILE=/tmp/lock; ip=/.hutch/bin/ip; ${line}`,
    )
  const works = async (line: string, wanted: RegExp | string = '') => {
    const { code, out } = await tool(line)
    t.equal(code, 0, `${line}: ${out}`)
    t.match(out, wanted, line)
  }
  for (const iptables of ['xtables-nft-multi iptables', 'xtables-legacy-multi iptables']) {
    await works(`${iptables} -A OUTPUT -d 203.0.113.9 -m owner --uid-owner 1000 -j DROP`)
    await works(`${iptables} -t nat -A OUTPUT -p tcp --dport 81 -j REDIRECT --to-ports 8080`)
    await works(`${iptables} -S OUTPUT`, '-m owner --uid-owner 1000')
  }
  await works('$ip tuntap add dev tun7 mode tun && $ip addr add 10.9.9.1/24 dev tun7 && $ip link set tun7 up')
  await works('$ip rule add fwmark 1 table 100 && $ip route add default dev tun7 table 100')
  await works('ls /sys/class/net', /eth0[^]*lo[^]*tun7/)
  await works('cat /sys/class/net/eth0/address', /^..:..:/)
  await works('cat /proc/sys/net/ipv4/ip_unprivileged_port_start', '0\n')
  await works('cat /proc/sys/net/ipv4/ping_group_range', /^0\s+65535$/m)
  await works('cat /proc/sys/net/ipv4/conf/all/src_valid_mark', '1\n')
  t.not((await tool('echo 1 > /proc/sys/net/ipv4/ip_forward')).code, 0, '/proc/sys is read-only')
})

t.test('what its root sees of the box', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 1 } })
  const machine = await box.driver.create(box.spec('a'))
  const mounts = await out(machine, 'cat /proc/self/mountinfo /proc/self/mountstats; grep -v ^total /proc/mounts')
  for (const path of [box.dataDir, kit.rootfs, kit.bundleDir, box.names.tag, 'machines', 'hutch box'])
    t.notOk(mounts.includes(path), `${path} is not in its table of mounts`)
  const roots = (await out(machine, 'cat /proc/self/mountinfo')).split('\n').map(line => line.split(' ')[3] ?? '')
  const ofKernel = /^(\/|)$|^\/(null|tun|zero|full|u?random|tty|bus|fs|irq|sys|sysrq-trigger)$/
  // Its own name, as which it is known to its owner.
  const ofItsView = /^\/a\/(meminfo|stat|loadavg|cpuinfo|swaps|online)$/
  t.same(
    roots.filter(root => !ofKernel.test(root) && !ofItsView.test(root)),
    [],
    'no mount shows a directory of the box',
  )
  t.match(await out(machine, 'ls /run/hutch /run/netns'), /No such file/, 'the stage is gone')
  t.notMatch(await out(machine, 'cat /proc/self/cgroup'), /:\/./, 'nor does its control group')
  t.equal((await sh(machine, 'mknod /tmp/null c 1 3')).code, 1, 'no device nodes, of whatever')
  t.equal((await sh(machine, 'echo through > /dev/null && echo more > /dev/full')).code, 1)
  t.not(await usersOf(box, 'a'), [])
})

t.test('device nodes of a machine are its own', async t => {
  const box = await openBox(t, kit)
  const [a, b] = (await Promise.all(['a', 'b'].map(id => box.driver.create(box.spec(id))))) as [Machine, Machine]
  const node = (machine: Machine) => out(machine, 'stat -c %d:%i /dev/null')
  t.not(await node(a), await node(b))
  const { dev, ino } = statSync('/dev/null')
  t.not(await node(a), `${dev}:${ino}\n`, 'whose locks and watches are not those of the box')
})

t.test('spare slots are pairs, and nothing is left of them', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 3 } })
  await box.driver.create(box.spec('a'))
  t.equal(
    readdirSync('/run/hutch/ids').filter(name => readFileSync(`/run/hutch/ids/${name}`, 'utf8').includes(box.names.tag))
      .length,
    1,
  )
  await box.driver.remove('a')
  await box.driver.close()
  t.same(
    readdirSync('/run/netns').filter(name => name.includes(box.names.tag)),
    [],
  )
  t.same(
    readdirSync('/run/hutch/ids').filter(name =>
      readFileSync(`/run/hutch/ids/${name}`, 'utf8').includes(box.names.tag),
    ),
    [],
  )
})

/** The real bundle's tools, and the tests' daemon. */
function toolKit(t: Test) {
  const dir = t.testdir()
  const bundleDir = join(dir, 'tools')
  execFileSync('cp', ['-a', '--reflink=auto', realBundle(), bundleDir])
  const facts = JSON.parse(readFileSync(join(bundleDir, 'bundle.json'), 'utf8'))
  const daemon = readFileSync(join(kit.bundleDir, 'daemon.cjs'))
  writeFileSync(join(bundleDir, 'daemon.cjs'), daemon)
  const command = [
    ...facts.command.slice(0, facts.command.indexOf('--preload')),
    '/.hutch/bin/node',
    '/.hutch/daemon.cjs',
  ]
  writeFileSync(join(bundleDir, 'bundle.json'), JSON.stringify({ command }))
  return { ...kit, bundleDir }
}

function realBundle(): string {
  return execFileSync('realpath', [join(import.meta.dirname, '../../../../../.runtime/bundle')], {
    encoding: 'utf8',
  }).trim()
}
