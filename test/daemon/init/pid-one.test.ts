import '../../support/native.ts'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { until } from '../../support/until.ts'

const unshare = ['--pid', '--fork', '--kill-child', '--mount-proc', '--'] as const
const possible = spawnSync('/usr/bin/unshare', [...unshare, '/bin/true']).status === 0
const skip = !possible && 'needs a pid namespace'
const main = join(import.meta.dirname, '../../../daemon/main.ts')

/** The daemon as PID 1 of a namespace of its own. `pid` is what we see it as. */
const start = async (t: Test) => {
  const root = t.testdir({ work: {}, logs: {}, state: {} })
  mkdirSync(join(root, 'tmp'))
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: root,
    TMPDIR: join(root, 'tmp'),
    WORKDIR: join(root, 'work'),
    SANDBOX_LOG_DIR: join(root, 'logs'),
    SANDBOX_STATE_FILE: join(root, 'state', 'processes.json'),
    SANDBOX_PROXY_STATE_FILE: join(root, 'state', 'proxy.json'),
    SANDBOX_MERGED_CA_PATH: join(root, 'state', 'ca.crt'),
    SANDBOX_LOCAL_PROXY_PORT: '49871',
    SVC_METADATA_PATH: join(root, 'state', 'metadata'),
    SVC_SCALE_FILE: join(root, 'state', 'scale'),
  }
  const child = spawn('/usr/bin/unshare', [...unshare, process.execPath, main, '--port', '0'], {
    env,
    cwd: join(root, 'work'),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const lines: string[] = []
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr })
      .on('line', line => {
        lines.push(line)
        const entry = line.startsWith('{') ? JSON.parse(line) : {}
        if (entry.event === 'daemon.listening') resolve(entry.port)
      })
      .on('close', () => reject(new Error(`the daemon did not start:\n${lines.join('\n')}`)))
  })
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim())
  /** Runs a shell command as a tenant does and gives what it printed. */
  const run = async (command: string): Promise<string> => {
    const body = JSON.stringify({ command, waitForCompletion: true })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}/process`, { method: 'POST', headers, body })
    const result = (await response.json()) as { stdout: string; stderr: string; error?: string }
    t.equal(response.status, 200, result.error ?? command)
    return result.stdout + result.stderr
  }
  return { pid, run, exited, port, lines }
}

/** What a descriptor of another process is open on; '' when it was closed meanwhile. */
const targetOf = (pid: number, fd: string): string => {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`)
  } catch {
    return '' // closed since the directory was read
  }
}

/** How many descriptors a process has that stay: connections come and go, and so do files without a name, made in advance. */
const lastingDescriptors = (pid: number): number =>
  readdirSync(`/proc/${pid}/fd`).filter(fd => !/^socket:|\/#\d+ \(deleted\)$/.test(targetOf(pid, fd))).length

/** State letters of a process's children. */
const childStates = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap(task => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
    .filter(child => child !== '')
    .map(child => {
      try {
        return / ([A-Z]) /.exec(readFileSync(`/proc/${child}/stat`, 'utf8'))?.[1] ?? ''
      } catch {
        return 'gone' // reaped since the list was read
      }
    })

t.test('PID 1 cannot be ended, stopped, debugged or read by tenant root', { skip }, async t => {
  const { run, port, pid } = await start(t)
  t.equal((await run('id -u')).trim(), '0')
  await run('for s in TERM INT HUP USR1 USR2 QUIT KILL STOP ABRT; do kill -$s 1; done; true')
  t.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  // While the daemon starts a process it has signals blocked, and the kernel's protection of PID 1 has a gap.
  const storm =
    'for i in $(seq 300); do for s in USR2 ALRM PROF IO PWR VTALRM TERM 34 64; do kill -$s 1; done; done; true'
  await Promise.all([run(storm), run(storm), ...Array.from({ length: 30 }, () => run('true'))])
  t.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  t.match(status, /State:\t[RS] /)
  t.equal((BigInt(`0x${/SigIgn:\t(\w+)/.exec(status)?.[1]}`) >> 9n) & 1n, 1n, 'no debugger behind SIGUSR1')
  const secrets = await run(
    'for f in environ mem maps; do head -c 1 /proc/1/$f >/dev/null 2>&1 && echo "read $f"; done; readlink /proc/1/fd/2 /proc/1/root /proc/1/exe; echo end',
  )
  t.equal(secrets, 'end\n')
  const api = await fetch(`http://127.0.0.1:${port}/filesystem%2Fproc%2F1%2Fenviron`)
  t.not(api.status, 200)
  t.notMatch(await api.text(), /SANDBOX_STATE_FILE/)
})

t.test('tenant root may not change the firewall', { skip }, async t => {
  const { run } = await start(t)
  const effective = BigInt(`0x${/CapEff:\t(\w+)/.exec(await run('cat /proc/self/status'))?.[1]}`)
  t.equal((effective >> 12n) & 1n, 0n, 'NET_ADMIN')
  t.equal((effective >> 21n) & 1n, 0n, 'SYS_ADMIN')
  t.equal((effective >> 19n) & 1n, 0n, 'SYS_PTRACE')
  t.match(await run('cat /proc/self/oom_score_adj'), /^500\n/)
})

t.test('orphans are reaped and descriptors do not pile up', { skip }, async t => {
  const { run, pid } = await start(t)
  await run('true')
  const descriptors = () => lastingDescriptors(pid)
  const before = descriptors()
  const rounds = 8
  for (let round = 0; round < rounds; round++) await run('(sleep 0.05; (sleep 0.1 &) ) & (setsid true &) ; exit 0')
  const settled = () => childStates(pid).length === 0 && descriptors() < before + rounds / 2
  await until(settled, 'the orphans to be gone')
  t.strictSame(childStates(pid), [])
  t.ok(descriptors() < before + rounds / 2, 'less than one for each two processes')
})

t.test('1,000 orphans end as nobody’s zombies, and a process sees three descriptors', { skip }, async t => {
  const { run, pid, port } = await start(t)
  // The last one is what `ls` itself reads.
  t.equal(await run('readlink /proc/self/fd/0; exec ls /proc/self/fd'), '/dev/null\n0\n1\n2\n3\n')
  const headers = { 'content-type': 'application/json' }
  const fed = { command: 'exec ls /proc/self/fd', stdin: true, waitForCompletion: true }
  const answer = await fetch(`http://127.0.0.1:${port}/process`, { method: 'POST', headers, body: JSON.stringify(fed) })
  t.match(await answer.json(), { stdout: '0\n1\n2\n3\n' })
  const descriptors = () => lastingDescriptors(pid)
  const before = descriptors()
  // Twice forked, in groups and sessions of their own, some ended by a signal.
  await run(
    'i=0; while [ $i -lt 250 ]; do i=$((i+1)); (true & exit 0) & (setsid true &) ; (sh -c "kill -9 \\$\\$" &) ; (sleep 0.2 &) ; done 2>/dev/null; exit 0',
  )
  const zombies = () => childStates(pid).filter(state => state === 'Z').length
  await until(() => childStates(pid).length === 0, 'the orphans to be gone')
  t.equal(zombies(), 0)
  const processes = 60
  await Promise.all(Array.from({ length: processes }, () => run('true')))
  t.ok(descriptors() < before + processes / 2, `${descriptors()} descriptors, ${before} before`)
  t.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
})

t.test('a stop from outside is heard', { skip }, async t => {
  const { pid, exited } = await start(t)
  process.kill(pid, 'SIGTERM')
  t.strictSame(await exited, [0, null])
})
