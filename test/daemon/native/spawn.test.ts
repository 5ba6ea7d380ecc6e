import '../../support/native.ts'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog } from '../../../shared/log.ts'
import { createReaper } from '../../../daemon/init/reaper.ts'
import { spawnProcess, type SpawnOptions } from '../../../daemon/native/spawn/spawn.ts'
import { kill, waitpid, type Exit } from '../../../daemon/native/sys/sys.ts'

const root = process.getuid?.() === 0
const env = { PATH: '/usr/bin:/bin' }

/** Runs a shell script to its end; `out` is its standard output. */
const harness = (t: Test) => {
  const reaper = createReaper({ clock: systemClock(), log: silentLog })
  const directory = mkdtempSync(join(tmpdir(), 'spawn-'))
  // Neither a signal handler nor the reaper's own timers keep the test alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => {
    clearInterval(alive)
    reaper.close()
    rmSync(directory, { recursive: true })
  })
  const run = async (script: string, options: Partial<SpawnOptions> = {}) => {
    const path = join(directory, 'out')
    const fd = openSync(path, 'w+')
    const base = { file: '/bin/sh', args: ['sh', '-c', script], env, descriptors: [-1, fd, fd] }
    const pid = spawnProcess({ ...base, ...options })
    const exit = await new Promise<Exit>(resolve => reaper.watch(pid, resolve))
    closeSync(fd)
    return { pid, exit, out: readFileSync(path, 'utf8') }
  }
  return { reaper, run }
}

t.test('runs a program with its arguments, its environment and nothing else', async t => {
  const { run } = harness(t)
  const result = await run('echo "$1|$A|$HOME"', {
    args: ['sh', '-c', 'echo "$1|$A|$HOME"', 'sh', 'one two'],
    env: { ...env, A: 'é=b' },
  })
  t.equal(result.out, 'one two|é=b|\n')
  t.match(result.exit, { pid: result.pid, exitCode: 0, signal: null })
})

t.test('tells an exit code from a signal', async t => {
  const { run } = harness(t)
  t.match((await run('exit 7')).exit, { exitCode: 7, signal: null })
  t.match((await run('kill -9 $$')).exit, { exitCode: null, signal: 9 })
})

t.test('a start that fails throws with code and stage and leaves nothing behind', async t => {
  const base = { file: '/bin/true', args: ['true'], env, descriptors: [-1, -1, -1] }
  const file = join(t.testdir({ plain: 'no program' }), 'plain')
  t.throws(() => spawnProcess({ ...base, file: '/nowhere' }), { code: 'ENOENT', stage: 'exec' })
  t.throws(() => spawnProcess({ ...base, file }), { code: 'EACCES', stage: 'exec' })
  t.throws(() => spawnProcess({ ...base, cwd: '/nowhere' }), { code: 'ENOENT', stage: 'directory' })
  t.throws(() => spawnProcess({ ...base, descriptors: [-1, 999, -1] }), { code: 'EBADF', stage: 'descriptors' })
  t.throws(() => spawnProcess({ ...base, args: ['a\0b'] }), { code: 'EINVAL', stage: 'spawn' })
  t.equal(waitpid(-1), 'unknown', 'there is no child, not even a dead one')
})

t.test('gives the program the descriptors that were named, in any order, and no others', async t => {
  const { run } = harness(t)
  const directory = t.testdir({ extra: 'from the file' })
  const extra = openSync(join(directory, 'extra'), 'r')
  const outPath = join(directory, 'result')
  const out = openSync(outPath, 'w')
  // stdout is our 2's place and the other way round: sources and targets overlap.
  await run('cat <&3; echo; ls /proc/self/fd | tr "\\n" " "', { descriptors: [-1, out, 2, extra] })
  closeSync(extra)
  closeSync(out)
  t.equal(readFileSync(outPath, 'utf8'), 'from the file\n0 1 2 3 4 ', 'ls itself opens the fourth')
})

t.test('a program starts with default signal handling and nothing blocked', async t => {
  const { run } = harness(t)
  const { out } = await run('grep -E "^Sig(Blk|Ign)" /proc/self/status')
  t.equal(out.replaceAll(/\s+/g, ' '), 'SigBlk: 0000000000000000 SigIgn: 0000000000000000 ')
})

t.test('session and group make the program a leader', async t => {
  const { run } = harness(t)
  const ids = 'cut -d" " -f 5,6 /proc/$$/stat'
  const session = await run(ids, { session: true })
  t.equal(session.out, `${session.pid} ${session.pid}\n`)
  const group = await run(ids, { group: true })
  t.match(group.out, new RegExp(`^${group.pid} (?!${group.pid}\\b)\\d+\\n$`))
})

t.test('the oom score is the child’s alone', async t => {
  const { run } = harness(t)
  const before = readFileSync('/proc/self/oom_score_adj', 'utf8')
  t.equal((await run('cat /proc/self/oom_score_adj', { oomScore: 700 })).out, '700\n')
  t.equal(readFileSync('/proc/self/oom_score_adj', 'utf8'), before)
})

t.test('umask, working directory and no_new_privs', async t => {
  const { run } = harness(t)
  const script = 'umask; pwd; grep NoNewPrivs /proc/self/status'
  const { out } = await run(script, { umask: 0o27, cwd: '/usr', noNewPrivileges: true })
  t.equal(out, '0027\n/usr\nNoNewPrivs:\t1\n')
})

t.test('credentials change user, group and groups for good', { skip: !root && 'needs root' }, async t => {
  const { run } = harness(t)
  const credentials = { uid: 4711, gid: 4712, groups: [4713] }
  const { out } = await run('grep -E "^(Uid|Gid|Groups|CapEff|CapPrm)" /proc/self/status', { credentials })
  t.match(out, /Uid:\t4711\t4711\t4711\t4711\nGid:\t4712\t4712\t4712\t4712\nGroups:\t4713/)
  t.match(out, /CapPrm:\t0+\nCapEff:\t0+\n/)
  t.equal(process.getuid?.(), 0, 'we stay who we are')
})

t.test('the working directory is entered as the user', { skip: !root && 'needs root' }, async t => {
  const locked = join(t.testdir(), 'locked')
  mkdirSync(locked, { mode: 0o700 })
  const credentials = { uid: 4711, gid: 4711, groups: [] }
  const options = { file: '/bin/true', args: ['true'], env, descriptors: [-1, -1, -1], credentials, cwd: locked }
  t.throws(() => spawnProcess(options), { code: 'EACCES', stage: 'directory' })
})

t.test('capabilities that were dropped are gone for root too', { skip: !root && 'needs root' }, async t => {
  const { run } = harness(t)
  const dropped = (1n << 12n) | (1n << 19n)
  const { out } = await run('grep -E "^Cap(Bnd|Eff|Prm|Inh)" /proc/self/status', { dropCapabilities: dropped })
  const sets = [...out.matchAll(/\t([0-9a-f]{16})/g)].map(([, set]) => BigInt(`0x${set}`))
  t.equal(sets.length, 4)
  for (const set of sets) t.equal(set & dropped, 0n)
  t.not(sets[2], 0n, 'others stay')
})

t.test('node:child_process still learns about its own children, and we about ours', async t => {
  const { run } = harness(t)
  const theirs = () =>
    new Promise<string>((resolve, reject) =>
      execFile('/bin/sh', ['-c', 'echo theirs'], (error, out) => (error ? reject(error) : resolve(out))),
    )
  const all = await Promise.all([theirs(), run('exit 5'), theirs(), run('exit 6'), theirs()])
  t.match(all, ['theirs\n', { exit: { exitCode: 5 } }, 'theirs\n', { exit: { exitCode: 6 } }, 'theirs\n'])
})

t.test('a program that cannot be reached does not hold us up', async t => {
  const directory = t.testdir()
  symlinkSync('loop', join(directory, 'loop'))
  const base = { args: ['x'], env, descriptors: [-1, -1, -1] }
  t.throws(() => spawnProcess({ ...base, file: join(directory, 'loop') }), { code: 'ELOOP', stage: 'exec' })
})

t.test('kill tells whether there was anybody', async t => {
  const pid = spawnProcess({ file: '/bin/sleep', args: ['sleep', '60'], env, descriptors: [-1, -1, -1], group: true })
  const { reaper } = harness(t)
  const ended = new Promise<Exit>(resolve => reaper.watch(pid, resolve))
  t.equal(kill(-pid, 0), true)
  t.equal(kill(-pid, 9), true)
  t.match(await ended, { signal: 9 })
  t.equal(kill(pid, 0), false)
})

const python = '/usr/bin/python3'
// Opening a file somebody holds a lease on waits for up to 45 seconds: a tenant can do that to its own programs.
const lease =
  'import fcntl,signal,sys; signal.signal(signal.SIGIO, signal.SIG_IGN); f = open(sys.argv[1], "r+b"); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); print("held", flush=True); sys.stdin.read()'

/** Holds whoever executes the file, as a disk does that is busy with others, and lets go. */
const slowDisk = `import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
FAN_CLASS_CONTENT, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, FAN_ALLOW = 4, 1, 0x40000, 1
group = libc.fanotify_init(FAN_CLASS_CONTENT, os.O_RDONLY)
if group < 0 or libc.fanotify_mark(group, FAN_MARK_ADD, ctypes.c_uint64(FAN_OPEN_EXEC_PERM), -100, sys.argv[1].encode()) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print('held', flush=True)
_, _, _, _, _, file, _ = struct.unpack('IBBHQii', os.read(group, 24))
time.sleep(11)
os.write(group, struct.pack('iI', file, FAN_ALLOW))
`

/** Starts the file from a process of its own: whoever starts one stands still. */
const starter = `const { spawnProcess } = await import(process.argv[1])
const from = performance.now()
spawnProcess({ file: process.argv[2], args: ['true'], env: {}, descriptors: [-1, -1, -1] })
console.log(Math.round(performance.now() - from))`

/** Begins one: milliseconds that it took, and how the disk ended. */
const startSlowly = async (t: Test, file: string): Promise<{ started: Promise<{ ms: number; disk: unknown }> }> => {
  const disk = spawn(python, ['-c', slowDisk, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(disk, 'exit')
  t.teardown(() => disk.kill('SIGKILL'))
  await once(disk.stdout, 'data')
  const spawner = new URL('../../../daemon/native/spawn/spawn.ts', import.meta.url).href
  const child = spawn(process.execPath, ['--input-type=module', '-e', starter, spawner, file])
  const said = once(child.stdout, 'data') as Promise<[Buffer]>
  const started = async () => ({ ms: Number((await said)[0]), disk: (await ended)[0] as unknown })
  return { started: started() }
}

const why = existsSync(python) ? (root ? false : 'needs root') : 'needs python3'
t.test('a start that waits is given up, and one that the box is slow with goes on', { skip: why }, async t => {
  const dir = t.testdir()
  const [file, slow] = [join(dir, 'true'), join(dir, 'slow')]
  for (const copy of [file, slow]) copyFileSync('/bin/true', copy)
  const { started } = await startSlowly(t, slow)
  const holder = spawn(python, ['-c', lease, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => {
    holder.stdin.end()
    return once(holder, 'exit')
  })
  await once(holder.stdout, 'data')
  const options = { file, args: ['true'], env, descriptors: [-1, -1, -1] }
  t.throws(() => spawnProcess(options), { code: 'ETIMEDOUT', stage: 'exec' })
  t.equal(waitpid(-1), undefined, 'only the holder is left')
  const { ms, disk } = await started
  t.ok(ms > 10_500, `it took ${ms} ms and was started`)
  t.equal(disk, 0)
})
