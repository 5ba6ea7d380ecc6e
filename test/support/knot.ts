/** An authoritative name server (Debian's knot) that takes signed updates, unpacked and not installed: the package would serve port 53. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { freePort } from './keyed.ts'
import { until } from './until.ts'

const tools = fileURLToPath(new URL('../../.runtime/test-tools', import.meta.url))
const home = join(tools, 'knot')
const packages = [
  'knot',
  'libknot13',
  'libdnssec9',
  'libzscanner4',
  'liblmdb0',
  'liburcu8',
  'libedit2',
  'libcap-ng0',
  'libbsd0',
  'libxdp1',
  'libbpf1',
  'libelf1',
]

const program = join(home, 'usr/sbin/knotd')
const libraries = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu'].map(path => join(home, path)).join(':')
const env = { ...process.env, LD_LIBRARY_PATH: libraries }

/** Undefined when it can be run, else why not. */
export const knotMissing = (): string | undefined => {
  const why = unpack()
  if (why !== undefined) return why
  const { status, stderr } = spawnSync(program, ['--version'], { env, encoding: 'utf8' })
  return status === 0 ? undefined : `knot cannot be run here: ${stderr.trim()}`
}

const unpack = (): string | undefined => {
  if (existsSync(program)) return undefined
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, '.new-'))
  try {
    const quiet = { cwd: work, stdio: 'ignore', timeout: 60_000 } as const
    execFileSync('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', ...packages], quiet)
    execFileSync('sh', ['-c', 'for one in *.deb; do dpkg-deb -x "$one" tree; done'], quiet)
    renameSync(join(work, 'tree'), home)
    return undefined
  } catch (error) {
    return existsSync(home) ? undefined : `needs knot: ${String(error).slice(0, 200)}`
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

export interface Knot {
  readonly port: number
  /** File of the key that may change the zone, and of one that may not. */
  readonly keyFile: string
  readonly otherKeyFile: string
}

const key = (name: string, secret: string): string =>
  `key "${name}" {\n\talgorithm hmac-sha256;\n\tsecret "${secret}";\n};\n`

/** Serves `zone` on loopback; ends with the test. */
export const knot = async (t: Test, dir: string, zone: string): Promise<Knot> => {
  const port = await freePort()
  const at = (name: string) => join(dir, name)
  const secret = Buffer.from('a secret of thirty-two bytes ...').toString('base64')
  writeFileSync(at('good.key'), key('hutch', secret))
  writeFileSync(at('bad.key'), key('hutch', Buffer.from('another secret of as many bytes.').toString('base64')))
  writeFileSync(
    at('zone'),
    `$ORIGIN ${zone}.\n$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n* A 127.0.0.1\n`,
  )
  for (const name of ['run', 'db']) mkdirSync(at(name), { recursive: true })
  writeFileSync(
    at('knot.conf'),
    `server:
    rundir: ${at('run')}
    user: root:root
    listen: 127.0.0.1@${port}
database:
    storage: ${at('db')}
    journal-db-max-size: 16M
    kasp-db-max-size: 16M
    timer-db-max-size: 16M
key:
  - id: hutch
    algorithm: hmac-sha256
    secret: ${secret}
acl:
  - id: update
    address: 127.0.0.1
    key: hutch
    action: update
zone:
  - domain: ${zone}
    file: ${at('zone')}
    acl: update
    zonefile-sync: -1
    journal-content: all
log:
  - target: stderr
    any: warning
`,
  )
  const child = spawn(program, ['-c', at('knot.conf')], { stdio: ['ignore', 'ignore', 'pipe'], env })
  let said = ''
  child.stderr.on('data', (piece: Buffer) => void (said += piece.toString()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`knotd ended: ${said}`)
    const socket = connect(port, '127.0.0.1')
    const isUp = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    return isUp
  }, 'knotd')
  return { port, keyFile: at('good.key'), otherKeyFile: at('bad.key') }
}
