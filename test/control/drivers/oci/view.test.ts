/** A machine sees its own limits, whatever happens to the program that keeps what it sees. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Machine } from '../../../../control/drivers/driver.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { cgroupMounts, makeKit, openBox, sh, type Box } from '../../../support/oci.ts'
import { until } from '../../../support/until.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())
/** Its daemon reads that all the time, from its start on. */
const looksAt = 'HUTCH_LOOKS_AT'
appendFileSync(
  join(kit.bundleDir, 'daemon.cjs'),
  `const looked = process.env.${looksAt}\nif (looked) setInterval(() => require('node:fs').readFileSync(looked), 2)\n`,
)

const placeOf = ({ runDir }: Box['names']): string => join(runDir, 'view')

/** The program of that box, which a server starts. */
const keeperOf = ({ names }: Pick<Box, 'names'>): number | undefined =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .find(pid => {
      try {
        const [file = '', place] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return file.endsWith('/keep-views') && place === placeOf(names)
      } catch {
        // It ended meanwhile.
        return false
      }
    })

const text = async (machine: Machine, line: string): Promise<string> => (await sh(machine, line)).out.trim()

const totalKb = async (machine: Machine): Promise<number> =>
  Number(/^MemTotal:\s+(\d+) kB$/m.exec(await text(machine, 'cat /proc/meminfo'))?.[1])

/** What a machine has read may stand for a tenth of a second where nobody says that its limits are new. */
const changes = (machine: Machine, megabytes: number): Promise<void> =>
  until(async () => (await totalKb(machine)) === megabytes * 1024, `${megabytes} MB`)

const seen = async (t: Test, machine: Machine, megabytes: number): Promise<void> => {
  t.equal(await totalKb(machine), megabytes * 1024, `${megabytes} MB`)
}

t.test('memory, processors, load and time are its own, and change with its limits', async t => {
  const box = await openBox(t, kit)
  const began = performance.now()
  const machine = await box.driver.create(box.spec('a'))
  await seen(t, machine, 256)
  const [, free] = /^MemAvailable: +(\d+) kB$/m.exec(await text(machine, 'cat /proc/meminfo')) ?? []
  t.ok(Number(free) > 100_000 && Number(free) <= 262_144, 'most of it is free')
  t.equal(await text(machine, 'nproc; grep -c ^processor /proc/cpuinfo; grep -c ^cpu[0-9] /proc/stat'), '1\n1\n1')
  t.match(await text(machine, 'cat /sys/devices/system/cpu/online'), /^\d$/, 'one processor')
  t.equal(await text(machine, 'cat /proc/cpuinfo | sed -n "s/^processor.*: //p"'), '0', 'counted from 0 on')
  t.equal(await text(machine, 'wc -l < /proc/swaps'), '1', 'no swap of the box')
  const clocks = "date +%s; cut -d' ' -f1 /proc/uptime; sed -n 's/^btime //p' /proc/stat; date +%s"
  const [before = NaN, uptime = NaN, booted = NaN, after = NaN] = (await text(machine, clocks)).split('\n').map(Number)
  // Its time begins at a whole second of the box's.
  t.ok(uptime <= (performance.now() - began) / 1000 + 1, `up for ${uptime} s`)
  t.ok(before - uptime - 2 < booted && booted < after - uptime + 2, 'both clocks agree')

  const idle = await text(machine, 'cat /proc/loadavg')
  t.match(idle, /^\d\.\d\d \d\.\d\d \d\.\d\d 1\/\d+ \d+$/)
  const busy = 'i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; cat /proc/stat /proc/loadavg'
  const [, user] = /^cpu +(\d+) /.exec(await text(machine, busy)) ?? []
  t.ok(Number(user) > 5, `${user} ticks of its own`)

  await box.limit('a', { memoryMb: 512, cpus: 2 })
  await changes(machine, 512)
  const counts = 'nproc; grep -c ^processor /proc/cpuinfo; grep -c ^cpu[0-9] /proc/stat'
  await until(async () => (await text(machine, counts)) === '2\n2\n2', 'two processors everywhere')
  const held = 'exec 3< /proc/meminfo; read -r a <&3; echo $a'
  t.equal(await text(machine, held), 'MemTotal: 524288 kB')

  const writes = 'echo x > /proc/meminfo; umount /proc/meminfo; rm /proc/meminfo; mount -o remount,rw /proc/meminfo'
  t.not((await sh(machine, writes)).code, 0, 'a tenant changes nothing of it')
  await seen(t, machine, 512)
  t.notMatch(await text(machine, 'cat /proc/self/mountinfo'), box.dataDir, 'no path of the host')
})

t.test('what its daemon has looked at before it had its share is not what is seen then', async t => {
  const box = await openBox(t, kit)
  const looked = '/sys/devices/system/cpu/online'
  for (const id of ['a', 'b', 'c']) {
    const machine = await box.driver.create(box.spec(id, { env: { [looksAt]: looked } }))
    t.match(await text(machine, `cat ${looked}`), /^\d$/, 'one processor')
  }
  const { claimer } = box.driver
  if (!claimer) throw new Error('it gives no machines to others')
  await box.driver.create(box.spec('d', { env: { [looksAt]: looked }, anonymous: true }))
  const claimed = await claimer.claim(box.spec('d'), async () => {})
  t.match(await text(claimed, `cat ${looked}`), /^\d$/, 'also of one that was made ahead')
})

t.test('what keeps it is killed, stopped, and started again with the server', async t => {
  const box = await openBox(t, kit)
  const machine = await box.driver.create(box.spec('a'))
  await seen(t, machine, 256)
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    const pid = keeperOf(box)
    t.ok(pid, 'it runs')
    process.kill(pid as number, signal)
    const began = performance.now()
    if (signal === 'SIGKILL') await seen(t, machine, 256)
    await box.driver.freezer?.freeze('a')
    await until(() => ![pid, undefined].includes(keeperOf(box)), 'another one')
    // One that hangs has to be found out first.
    if (signal === 'SIGKILL') t.ok(performance.now() - began < 2_000, 'it is back within two seconds')
    await box.driver.freezer?.thaw('a')
    const memoryMb = signal === 'SIGKILL' ? 300 : 320
    await box.limit('a', { memoryMb, cpus: 1 })
    await changes(machine, memoryMb)
  }
  await box.driver.close()
  await until(() => keeperOf(box) === undefined, 'its end')
  await seen(t, machine, 320)
  await box.reopen()
  await box.limit('a', { memoryMb: 384, cpus: 1 })
  await changes(machine, 384)
})

t.test('a machine of a version that had none gets it when the server starts', async t => {
  const box = await openBox(t, kit)
  const machine = await box.driver.create(box.spec('a'))
  await box.driver.close()
  // As if it had never been shown anything.
  const [mount = ''] = cgroupMounts().filter(mount => existsSync(join(mount, box.names.cgroup, 'a/cgroup.procs')))
  const [pid = ''] = readFileSync(join(mount, box.names.cgroup, 'a/cgroup.procs'), 'utf8').split('\n')
  const covered = [...readFileSync(`/proc/${pid}/mountinfo`, 'utf8').matchAll(/^\S+ \S+ \S+ \/a\/\S+ (\S+)/gm)]
  t.equal(covered.length, 8)
  for (const [, path = ''] of covered) execFileSync('nsenter', ['-t', pid, '-m', 'busybox', 'umount', path])
  rmSync(join(placeOf(box.names), 'a'), { recursive: true })
  t.not(await totalKb(machine), 256 * 1024, 'it sees the box')
  await box.reopen()
  await box.limit('a', { memoryMb: 288, cpus: 1 })
  await changes(machine, 288)
})

t.test('who reads all the time costs the box next to nothing of what it costs him', async t => {
  const box = await openBox(t, kit)
  const machine = await box.driver.create(box.spec('a'))
  /** Processor time, ms. */
  const ofKeeper = () => {
    const fields = readFileSync(`/proc/${keeperOf(box)}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }
  const ofReader = async () => (await box.driver.stats('a'))?.cpuMs ?? NaN
  const before = [ofKeeper(), await ofReader()] as const
  const reads = 'i=0; while [ $i -lt 10000 ]; do read -r a < /proc/meminfo; read -r a < /proc/stat; i=$((i + 1)); done'
  t.equal((await sh(machine, reads)).code, 0)
  const [keeper, reader] = [ofKeeper() - before[0], (await ofReader()) - before[1]]
  t.ok(keeper <= reader / 8, `20,000 reads cost the box ${keeper} ms and the reader ${reader}`)
})
