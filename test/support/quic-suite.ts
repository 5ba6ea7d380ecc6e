/**
 * Programs that speak HTTP/3 over QUIC, in a sandbox with an outbound policy: UDP to port 443 is refused at once, and they go on with
 * TCP. curl (of curl_cffi) and niquests, which fall back by themselves, and a server of aioquic, all of them from PyPI.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { make, quoted, upload, type Sandbox } from './held-sandboxes.ts'
import { addresses } from './internet/network.ts'
import { startWorld, type World } from './internet/world.ts'
import { until } from './processes.ts'

const programs = new URL('../programs', import.meta.url).pathname
const site = 'HUTCH_TEST_QUIC'

/** Installs the programs, for the image's Python, which is not this box's; to be called where PyPI is reached. */
export const installQuic = (): void => {
  if (process.env[site]) return
  const dir = mkdtempSync(join(tmpdir(), 'hutch-quic-'))
  process.env[site] = dir
  const kind = ['--only-binary=:all:', '--python-version', '3.11', '--platform', 'manylinux_2_34_x86_64']
  const kinds = [...kind, '--platform', 'manylinux_2_28_x86_64', '--platform', 'manylinux2014_x86_64']
  const wheels = ['aioquic==1.7.2', 'curl_cffi==0.17.0', 'niquests==3.21.2']
  const args = ['-m', 'pip', 'install', '-q', '--target', dir, ...kinds, ...wheels]
  execFileSync('python3', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A server of HTTP/3 where the world has one of HTTP over TLS; gives the paths that it is asked for. */
const startQuic = async (t: Test, dir: string): Promise<string[]> => {
  const names = 'subjectAltName=DNS:open.example'
  const files = ['-subj', '/CN=open.example', '-addext', names, '-keyout', 'k.pem', '-out', 'c.pem']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files], { cwd: dir, stdio: 'ignore' })
  const args = [join(programs, 'quic-server.py'), addresses.cdn, join(dir, 'c.pem'), join(dir, 'k.pem')]
  const child = spawn('python3', args, {
    env: { ...process.env, PYTHONPATH: dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', line => void lines.push(line))
  await until('a server of HTTP/3', () => lines.includes('ready'))
  return lines
}

/** Puts the programs into a sandbox. */
const equip = async ({ server }: World, sandbox: Sandbox, dir: string): Promise<void> => {
  await upload(sandbox, join(programs, 'quic-client.py'), '/root/client.py')
  const tar = execFileSync('tar', ['-cf', '-', '-C', dir, '.'], { maxBuffer: 512 * 1024 * 1024 })
  const sent = await fetch(`${server.url}/default/sandboxes/${sandbox.name}/filesystem//tmp/site.tar`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(tar),
  })
  if (sent.status !== 200) throw new Error(`the programs were not taken: ${await sent.text()}`)
  await sandbox.run('mkdir /root/site && tar -xf /tmp/site.tar -C /root/site --no-same-owner && rm /tmp/site.tar')
}

/** Which version of HTTP a program got `url` by, in how many milliseconds, or its error. */
const ask = async ({ run }: Sandbox, program: string, url: string, address = '') => {
  const text = await run(
    `PYTHONWARNINGS=ignore PYTHONPATH=/root/site python3 /root/client.py ${program} ${url} ${quoted(address)}`,
  )
  return JSON.parse(text) as { version?: string; error?: string; ms: number }
}

/** The packages must be installed (`installQuic`), and the network be the test's own. */
export const quicSuite = async (t: Test, runtime: string): Promise<void> => {
  const dir = process.env[site] as string
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const world = await startWorld(t, { HUTCH_RUNTIME: runtime })
  const asked = await startQuic(t, dir)
  const free = await make(world, 'free')
  const held = await make(world, 'held', { allowedDomains: ['open.example'] })
  for (const one of [free, held]) await equip(world, one, dir)
  // Its names are those of the box, which knows none of the world's.
  await free.run(`echo '${addresses.cdn} open.example' >> /etc/hosts`)

  for (const program of ['curl', 'curl-alone', 'niquests']) {
    const answer = await ask(free, program, `https://open.example/free-${program}`)
    t.match(answer, { version: /^3/ }, `${program} speaks QUIC where nothing holds it`)
    t.ok(asked.includes(`asked /free-${program}`), 'and the server was asked so')
  }
  for (const program of ['curl', 'niquests']) {
    const answer = await ask(held, program, `https://open.example/held-${program}`)
    t.match(answer, { version: /^(1\.1|2)/ }, `${program} goes on with TCP`)
    t.ok(answer.ms < 1_000, `within a second: ${answer.ms} ms`)
    t.ok(world.reached(`/held-${program}`).length > 0, 'and has the page')
  }
  const alone = await ask(held, 'curl-alone', 'https://open.example/held-alone')
  t.match(alone.error, /refused/, 'what speaks nothing else is told at once')
  t.ok(alone.ms < 1_000, `${alone.ms} ms`)
  t.same(
    asked.filter(line => line.includes('/held-')),
    [],
    'nothing came over QUIC',
  )
  for (const { name } of [free, held]) await world.server.call('DELETE', `/v0/sandboxes/${name}`)
}
