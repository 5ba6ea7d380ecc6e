/** Volumes through the real server: the acceptance scene, who holds one, and what outlives what, on any runtime. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { server, type Answer, type Server } from './server.ts'
import { until } from './until.ts'

type Environment = Record<string, string>

const runtime = { image: 'svc/busybox:latest', memory: 256 }

const create = (s: Server, name: string, volumes: object[], more: object = {}): Promise<Answer> =>
  s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime, volumes, ...more } })

/** Runs a shell line as root of the sandbox. */
const run = async (s: Server, name: string, command: string): Promise<{ exitCode: number; stdout: string }> => {
  const { body: sandbox } = await s.call('GET', `/v0/sandboxes/${name}`)
  const { body, text } = await s.call('POST', `${sandbox.metadata.url}/process`, { command, waitForCompletion: true })
  if (typeof body?.exitCode !== 'number') throw new Error(`${name}: ${text}`)
  return body
}

const remove = async (s: Server, name: string): Promise<void> => {
  await s.call('DELETE', `/v0/sandboxes/${name}`)
  await s.until(name, (body, status) => status === 404 || body.status === 'TERMINATED')
}

const attachedTo = async (s: Server, name: string): Promise<string> =>
  (await s.call('GET', `/v0/volumes/${name}`)).body.state.attachedTo

const data = (more: object = {}) => ({ name: 'data', mountPath: '/data', ...more })

/** Loop devices whose file is below the directory. */
const devicesOf = (dataDir: string): string[] =>
  execFileSync('losetup', ['--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' })
    .split('\n')
    .filter(line => line.startsWith(`${dataDir}/volumes/`))

const holders = async (t: Test, environment: Environment): Promise<void> => {
  const s = await server(t, environment)
  const made = await s.call('POST', '/v0/volumes', { metadata: { name: 'data' }, spec: { size: 64 } })
  t.match(made, {
    status: 200,
    body: { status: 'DEPLOYED', spec: { size: 64, region: String }, state: { attachedTo: '' } },
  })
  t.match(await create(s, 'first', [data()]), {
    status: 200,
    body: { spec: { volumes: [{ name: 'data', mountPath: '/data' }] } },
  })
  t.equal((await run(s, 'first', 'ls -A /data')).stdout, '', 'a new one is empty')
  t.equal((await run(s, 'first', 'echo kept > /data/file')).exitCode, 0)
  t.match(await create(s, 'second', [data()]), { status: 409, body: { code: 409, message: /sandbox "first"/ } })
  t.equal((await s.call('GET', '/v0/sandboxes/second')).status, 404, 'a refused create leaves nothing')
  t.equal(await attachedTo(s, 'data'), 'sandbox:first')
  t.match(await s.call('DELETE', '/v0/volumes/data'), { status: 409, body: { message: /first/ } })

  const before = (await run(s, 'first', 'cat /data/file')).stdout
  t.equal(before, 'kept\n', 'what was refused changed nothing')
  await remove(s, 'first')
  t.equal(await attachedTo(s, 'data'), '')
  t.equal((await create(s, 'second', [data()])).status, 200)
  t.equal((await run(s, 'second', 'cat /data/file')).stdout, 'kept\n')
  t.equal(await attachedTo(s, 'data'), 'sandbox:second')

  const full = await run(s, 'second', 'dd if=/dev/zero of=/data/big bs=1M count=80 2>&1')
  t.not(full.exitCode, 0)
  t.match(full.stdout, /No space left on device/)
  t.equal((await run(s, 'second', 'echo more > /root/beside')).exitCode, 0, 'the rest of the sandbox goes on')
  t.equal((await run(s, 'second', 'rm /data/big && echo again > /data/more && cat /data/file')).stdout, 'kept\n')

  await remove(s, 'second')
  t.match(await s.call('DELETE', '/v0/volumes/data'), { status: 200, body: { status: 'DELETING' } })
  t.equal((await s.call('GET', '/v0/volumes/data')).status, 404)
  await until(async () => readdirSync(join(s.dataDir, 'volumes')).length === 0, 'its file to go')
  t.same(devicesOf(s.dataDir), [], 'no device is left')
}

const restricted = async (t: Test, environment: Environment): Promise<void> => {
  const s = await server(t, environment)
  await s.call('POST', '/v0/volumes', { metadata: { name: 'data' }, spec: { size: 64 } })
  t.equal((await create(s, 'writer', [data()])).status, 200)
  // gVisor shows its own mounts, without those of the host.
  const shown = environment['HUTCH_RUNTIME'] === 'runsc' ? / rw,/ : /nosuid.*nodev/
  t.match((await run(s, 'writer', 'grep " /data " /proc/mounts')).stdout, shown)
  t.not((await run(s, 'writer', 'mount -o remount,suid,dev /data 2>&1')).exitCode, 0)
  t.not((await run(s, 'writer', 'ls /dev/loop0 /dev/loop-control 2>&1')).exitCode, 0, 'the image itself is not seen')
  await run(s, 'writer', 'echo text > /data/file; ln -s /etc/passwd /data/link; mknod /data/null c 1 3')
  t.not((await run(s, 'writer', 'echo x > /data/null 2>&1; test ! -s /data/null && cat /data/null 2>&1')).exitCode, 0)
  await remove(s, 'writer')
  t.equal((await create(s, 'reader', [data({ readOnly: true })])).status, 200)
  t.equal((await run(s, 'reader', 'cat /data/file')).stdout, 'text\n')
  t.not((await run(s, 'reader', 'touch /data/new 2>&1')).exitCode, 0)
  t.not((await run(s, 'reader', 'mount -o remount,rw /data 2>&1')).exitCode, 0)
  t.match((await s.call('GET', '/v0/sandboxes/reader')).body.spec.volumes, [data({ readOnly: true })])
}

const outlives = async (t: Test, environment: Environment): Promise<void> => {
  const s = await server(t, environment)
  await s.call('POST', '/v0/volumes', { metadata: { name: 'data' }, spec: { size: 64 } })
  await s.call('POST', '/v0/volumes', { metadata: { name: 'idle' }, spec: { size: 64 } })
  t.equal((await create(s, 'idler', [{ name: 'idle', mountPath: '/srv/idle' }])).status, 200)
  await run(s, 'idler', 'echo idle > /srv/idle/file; sync')
  await remove(s, 'idler')
  t.equal((await create(s, 'one', [data()])).status, 200)
  await run(s, 'one', 'echo kept > /data/file; sync')
  await s.kill()
  await s.start()
  t.equal((await run(s, 'one', 'cat /data/file')).stdout, 'kept\n', 'the machine ran on')
  t.equal(await attachedTo(s, 'data'), 'sandbox:one')
  t.equal((await s.call('POST', '/v0/sandboxes/one/restart')).status, 200)
  await s.until('one', body => body.status === 'DEPLOYED' && body.state === 'RUNNING')
  t.equal((await run(s, 'one', 'cat /data/file && echo again >> /data/file')).stdout, 'kept\n', 'started again')

  const place = mkdtempSync(join(tmpdir(), 'hutch-volumes-'))
  t.teardown(() => rmSync(place, { recursive: true }))
  const main = (args: string[], dataDir: string) =>
    execFileSync(process.execPath, ['control/main.ts', ...args], { env: { ...process.env, HUTCH_DATA_DIR: dataDir } })
  const copy = join(place, 'copy.tar')
  main(['backup', copy], s.dataDir)
  await run(s, 'one', 'echo later > /data/file; sync')
  // Machines of gVisor have a socket by their id, and these two would be on one box.
  await remove(s, 'one')
  const there = await server(t, environment, [], async ({ dataDir }) => {
    main(['restore', copy], dataDir)
    t.equal(readdirSync(join(dataDir, 'volumes')).length, 2)
  })
  t.equal((await run(there, 'one', 'cat /data/file')).stdout, 'kept\nagain\n', 'as it was when the backup was made')
  t.equal((await create(there, 'idler', [{ name: 'idle', mountPath: '/x' }])).status, 200)
  t.equal((await run(there, 'idler', 'cat /x/file')).stdout, 'idle\n')
  for (const name of ['one', 'idler']) await remove(there, name)
}

const sizes = async (t: Test, environment: Environment): Promise<void> => {
  const s = await server(t, environment)
  await s.call('POST', '/v0/volumes', { metadata: { name: 'data' }, spec: { size: 32 } })
  const scratch = { name: 'scratch', mountPath: '/scratch', type: 'ephemeral', sizeMb: 48 }
  t.equal((await create(s, 'a', [data(), scratch])).status, 200)
  const sizes = () => run(s, 'a', 'df -m /data /scratch | tail -n 2 | tr -s " " | cut -d " " -f 2')
  const [small, own] = (await sizes()).stdout.split('\n').map(Number)
  t.ok(Number(small) > 20 && Number(small) <= 32, `${small}`)
  t.ok(Number(own) > 36 && Number(own) <= 48, `${own}`)
  await run(s, 'a', 'echo kept > /data/file; echo here > /scratch/file')
  t.match(await s.call('PUT', '/v0/volumes/data', { spec: { size: 16 } }), {
    status: 400,
    body: { message: /spec.size/ },
  })
  t.equal((await s.call('PUT', '/v0/volumes/data', { spec: { size: 128 } })).status, 200)
  t.equal((await s.call('POST', '/v0/sandboxes/a/restart')).status, 200)
  await s.until('a', body => body.status === 'DEPLOYED' && body.state === 'RUNNING')
  const [grown] = (await sizes()).stdout.split('\n').map(Number)
  t.ok(Number(grown) > 100, `${grown}`)
  t.equal((await run(s, 'a', 'cat /data/file /scratch/file')).stdout, 'kept\nhere\n')
  await remove(s, 'a')
  t.equal((await create(s, 'a', [scratch])).status, 200)
  t.equal((await run(s, 'a', 'ls -A /scratch')).stdout, '', 'an ephemeral one begins anew')
}

/** Volumes on sandboxes of one runtime; `auto` is the host's choice. */
export const volumesSuite = async (t: Test, runtime: string): Promise<void> => {
  const environment = { HUTCH_RUNTIME: runtime }
  await t.test('one holder at a time', t => holders(t, environment))
  await t.test('a volume is mounted without setuid and devices, read-only when asked for', t =>
    restricted(t, environment),
  )
  await t.test('volumes outlive the server, a kill, an end of the machine and a backup', t => outlives(t, environment))
  await t.test('a volume grows and the next start has the room; ephemeral ones go with their sandbox', t =>
    sizes(t, environment),
  )
}
