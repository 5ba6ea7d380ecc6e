/**
 * Every path that the daemon and its tools open while it is asked for a bit of everything, in a root full of a tenant's
 * files: what is not on the list below is something that a tenant could steer them with. Needs strace.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { bundle, checkout, chrooted, findInPath, imageRoot, withoutChroot } from '../../support/chroot.ts'
import { until } from '../../support/processes.ts'

const strace = findInPath('strace')
const skip = withoutChroot || (strace === undefined && 'needs strace (apt-get install strace)')

/** What they may open, and why. */
const allowed: readonly (readonly [RegExp, string])[] = [
  [/^\/(proc|sys|dev\/(null|net\/tun|ptmx|pts)|\.hutch)(\/|$)/, "the kernel's, and the bundle"],
  [/^\/var\/log\/sandbox-api(\/|$)/, 'output of processes, for tenants to read'],
  [/^\/var\/lib\/hutchd(\/|$)/, 'its own state: as data, only when it is its own'],
  [/^\/(var|var\/lib|var\/log)$/, 'the directories above'],
  [/^\/var\/run\/wireguard(\/|$)/, 'a file that wireguard-go watches, and that tells it nothing'],
  [/^\/tmp(\/|$)/, 'the working directory, uploads in parts, state of the proxy'],
  [/^\/etc\/(passwd|group)$/, 'as data: names of owners and of the user of the workload'],
  [/^\/etc\/resolv\.conf$/, 'as data, where no host names the servers'],
  [/^\/(\.env|svc\/metadata|uk\/libukp\/scale_to_zero_disable)$/, "as data: the contract's files"],
  [/^\/((usr\/)?bin\/|etc$|mnt\/d)/, 'what it was asked for, and shells that it starts for tenants'],
  [/^\/$/, 'the working directory of the daemon'],
]

interface Opened {
  readonly paths: ReadonlySet<string>
  readonly programs: ReadonlySet<string>
}

/** What is ours in a trace: from the bundle's first program on, until something becomes a program of the tenant's. */
const openedByUs = (trace: string): Opened => {
  const ours = new Map<string, boolean>()
  const paths = new Set<string>()
  const programs = new Set<string>()
  for (const line of trace.split('\n')) {
    const [, pid = '', call = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const program = /^execve\("([^"]*)"/.exec(call)?.[1]
    if (program !== undefined) ours.set(pid, program.startsWith('/.hutch/'))
    const child = /^(?:clone3?|v?fork|<\.\.\. (?:clone3?|v?fork) resumed>).*= (\d+)$/.exec(call)?.[1]
    if (child !== undefined) ours.set(child, ours.get(child) ?? ours.get(pid) ?? false)
    if (!ours.get(pid)) continue
    if (program !== undefined) programs.add(program)
    for (const [, path = ''] of (call.split(') = ')[0] ?? '').matchAll(/"(\/[^"]*)"/g)) paths.add(path)
  }
  return { paths, programs }
}

t.test('what the daemon and its tools open', { skip, timeout: 300_000 }, async t => {
  const made = bundle()
  const { command } = JSON.parse(readFileSync(join(made, 'bundle.json'), 'utf8')) as { command: string[] }
  const trace = join(t.testdir(), 'trace')
  const root = await imageRoot('base')
  const env = {
    WORKDIR: '/tmp',
    RELACE_API_KEY: 'x',
    RELACE_BASE_URL: 'https://nosuch.example',
    HUTCH_RELEASES_URL: 'https://nosuch.example',
  }
  const tracer = [strace ?? '', '-f', '-s', '300', '-e', 'trace=%file,process', '-o', trace]
  const child = chrooted({ root, bundle: made, network: 'own', env, tracer }, [...command, '--port', '7777'])
  child.stdout?.resume()
  let said = ''
  child.stderr?.on('data', piece => (said += piece))
  await until('the daemon to listen', () => said.includes('"daemon.listening"'))
  const daemon = execFileSync('pgrep', ['-f', '-o', '^/\\.hutch/.*--port 7777$'], { encoding: 'utf8' }).trim()
  const program = join(checkout, 'test/programs/every-endpoint.ts')
  await execa('nsenter', [
    '-t',
    daemon,
    '-n',
    'sh',
    '-c',
    `ip link set lo up; exec ${process.execPath} ${program} 7777`,
  ])
  process.kill(Number(daemon), 'SIGKILL')
  await once(child, 'close')
  const { paths, programs } = openedByUs(readFileSync(trace, 'utf8'))
  t.ok(paths.size > 100, `${paths.size} paths`)
  t.ok(programs.has('/.hutch/bin/ip') && programs.has('/.hutch/bin/wireguard-go'), 'its tools ran')
  t.same(
    [...paths].filter(path => !allowed.some(([pattern]) => pattern.test(path))),
    [],
  )
  t.ok(existsSync(trace))
})
