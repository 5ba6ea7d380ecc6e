/** What the program that keeps views makes of version 2 of control groups: on a tree of files, as this box may have none with controllers. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'

const program = join(import.meta.dirname, '../../../../control/drivers/oci/view/build/keep-views')
const why = process.getuid?.() !== 0 ? 'root to mount' : existsSync(program) ? undefined : 'the programs of make setup'

/** What is shown of a machine by a program that is started so, whose first line is `first`. */
const machine = async (t: Test, [file = '', ...before]: readonly string[], first: string) => {
  const dir = t.testdir({
    groups: {
      g: {
        a: {
          'memory.max': '536870912\n',
          'memory.current': '209715200\n',
          'memory.stat':
            'anon 104857600\nfile 94371840\nshmem 4194304\ninactive_file 41943040\nactive_file 20971520\nslab_reclaimable 1048576\nslab_unreclaimable 2097152\nkernel_stack 16384\npagetables 32768\n',
          'cpu.max': '50000 100000\n',
          'cpu.stat': 'usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\n',
          'pids.current': '7\n',
        },
      },
    },
  })
  const groups = join(dir, 'groups')
  // Not in t.testdir(), which goes before the teardown.
  const place = mkdtempSync(join(tmpdir(), 'hutch-view-'))
  await execa('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'view', place])
  const child = spawn(file, [...before, place, '2', 'g', groups, groups, groups, groups, groups], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    const ended = once(child, 'close')
    child.stdin.end()
    await ended
    await execa('umount', [place])
    rmdirSync(place)
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const answer = async (asked: string) => {
    child.stdin.write(`${asked}\n`)
    return (await lines.next()).value
  }
  t.equal((await lines.next()).value, first)
  t.equal(await answer('add a'), 'ok')
  const seen = (name: string) => readFileSync(join(place, 'a', name), 'utf8')
  const kb = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(seen('meminfo'))?.[1])
  t.same(
    ['MemTotal', 'MemFree', 'MemAvailable', 'Cached', 'Shmem', 'AnonPages', 'SwapTotal'].map(kb),
    [524_288, 319_488, 381_952, 92_160, 4_096, 102_400, 0],
  )
  t.equal(seen('online'), '0\n', 'half a processor is one')
  t.match(seen('stat'), /^cpu +200 0 +100 [^]*^cpu0 +200 0 +100 [^]*^processes 7$/m)
  t.equal(seen('cpuinfo').match(/^processor\s*:/gm)?.length, 1)

  writeFileSync(join(groups, 'g/a/memory.max'), '1073741824\n')
  writeFileSync(join(groups, 'g/a/cpu.max'), 'max 100000\n')
  // One that uses no processor reads nothing, either: where nobody says who reads, it is not looked at.
  writeFileSync(join(groups, 'g/a/cpu.stat'), 'usage_usec 3100000\nuser_usec 2100000\nsystem_usec 1000000\n')
  await delay(1_200)
  t.equal(kb('MemTotal'), 1_048_576)
  await delay(1_200)
  t.equal(seen('cpuinfo').match(/^processor\s*:/gm)?.length, seen('stat').match(/^cpu\d/gm)?.length)

  writeFileSync(join(groups, 'g/a/memory.max'), '268435456\n')
  writeFileSync(join(groups, 'g/a/cpu.max'), '50000 100000\n')
  t.equal(await answer('renew a'), 'ok')
  t.equal(kb('MemTotal'), 262_144, 'at once')
  t.equal(seen('cpuinfo').match(/^processor\s*:/gm)?.length, 1)
  t.equal(await answer('renew b'), 'ok', 'one that is not there yet')

  t.match(await answer('add ../a'), /^failed ask \d+$/)
  t.match(await answer('add'), /^failed ask \d+$/)
  t.match(await answer('sing a'), /^failed ask \d+$/)
  t.equal(await answer('drop a'), 'ok')
  t.equal(existsSync(join(place, 'a')), false)
  t.equal(await answer('drop a'), 'ok', 'again')
}

t.test('memory, processors and time of version 2', { skip: why ?? false }, t => machine(t, [program], 'asked'))

// fanotify asks for CAP_SYS_ADMIN in the first user namespace (fanotify_init(2)).
const poor = ['setpriv', '--bounding-set=-sys_admin', program]
t.test('the same where the kernel does not say who reads', { skip: why ?? false }, t =>
  machine(t, poor, `timed ${constants.errno.EPERM}`),
)
