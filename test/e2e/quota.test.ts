/** Sandboxes that fill the disk of a real server, whose data directory is on a disk of its own. */
import { execFileSync } from 'node:child_process'
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { loopsLeft } from '../support/oci.ts'
import { server, type Server } from '../support/server.ts'

const why = whyNoMachines()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

const diskMb = 400
const image = join(t.testdir(), 'disk')
const mounted: string[] = []
const s: Server = await server(
  {
    teardown: undo => void t.teardown(undo),
  },
  { HUTCH_STANDBY_SECONDS: '3600', HUTCH_DISK_RESERVE_MB: '64' },
  [],
  async ({ dataDir }) => {
    writeFileSync(image, '')
    execFileSync('truncate', ['--size', `${diskMb}M`, image])
    execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image])
    execFileSync('mount', ['-o', 'loop', image, dataDir])
    mounted.push(dataDir)
  },
)

const create = (name: string, storageMb: number) =>
  s.call('POST', '/v0/sandboxes', {
    metadata: { name },
    spec: { runtime: { image: 'busybox', memory: 256, storageMb } },
  })

const run = async (name: string, command: string): Promise<string> => {
  const { body, text } = await s.call('POST', `/default/sandboxes/${name}/process`, {
    command,
    waitForCompletion: true,
    timeout: 60,
  })
  if (body?.logs === undefined) throw new Error(text)
  return body.logs
}

const names = ['a', 'b', 'c']

await t.test('all fill up at once: each is told so within what it has, and the records of the host go on', async t => {
  for (const name of names) t.equal((await create(name, 80)).status, 200, name)
  t.match(await create('d', 80), { status: 503, body: { error: 'NO_ROOM' } }, 'what is promised is there')
  for (const name of names) await s.until(name, body => body.status === 'DEPLOYED')
  const df = await run('a', 'df -m / | tail -n 1; df -i / | tail -n 1')
  const [, size, used] = /^\S+\s+(\d+)\s+(\d+)/.exec(df) ?? []
  t.ok(Number(size) > 60 && Number(size) <= 80 && Number(used) < 3, df)
  const fill =
    'i=0; while dd if=/dev/zero bs=64k of=/fill.$i count=64; do i=$((i+1)); done; touch /here; id -u; ls / | grep -c fill'
  const said = await Promise.all(names.map(name => run(name, fill)))
  for (const text of said) {
    t.match(text, /No space left on device/)
    t.notMatch(text, /[Ii]\/[Oo] error|Read-only/)
    t.match(text, /^0\n1[0-9]\n/m, 'as root, and more than 40 MB fitted')
  }
  const { body: health } = await s.call('GET', '/healthz')
  t.match(health, { status: 'ok', database: 'ok', disk: 'ok' })
  const { bavail, bsize } = statfsSync(s.dataDir)
  t.ok((bavail * bsize) / 1024 ** 2 > 64, 'the reserve is there')
  const { status, body } = await s.call('PUT', '/v0/sandboxes/a', { metadata: { labels: { still: 'here' } }, spec: {} })
  t.match([status, body.metadata.labels], [200, { still: 'here' }])
})

await t.test('the API of a full sandbox says that its disk is full, and works again when there is room', async t => {
  const path = '/default/sandboxes/a/filesystem//more'
  const write = () => s.call('PUT', path, { content: 'x'.repeat(3_000_000) })
  t.match(await write(), { status: 422, body: { error: /disk full: ENOSPC/ } })
  t.match(await s.call('PUT', '/default/sandboxes/a/filesystem//dir/deep', { content: 'x'.repeat(3_000_000) }), {
    status: 422,
  })
  await run('a', 'rm -f /fill.*')
  t.equal((await write()).status, 200)
  const neighbour = await s.call('PUT', '/default/sandboxes/b/filesystem//more', { content: 'x'.repeat(3_000_000) })
  t.equal(neighbour.status, 422, 'the neighbour is as full as it was')
})

await t.test('after a kill they are what they were; one grows with its next start, with its files', async t => {
  await run('a', 'echo kept > /kept; rm -f /more')
  await s.kill()
  await s.start()
  t.equal(await run('a', 'cat /kept'), 'kept\n')
  t.match(await s.call('PUT', '/v0/sandboxes/a', { spec: { runtime: { storageMb: 300 } } }), { status: 503 })
  t.match(await s.call('PUT', '/v0/sandboxes/a', { spec: { runtime: { storageMb: 110 } } }), { status: 200 })
  t.equal((await s.call('POST', '/v0/sandboxes/a/restart')).status, 200)
  await s.until('a', body => body.status === 'DEPLOYED')
  const [, size] = /^\S+\s+(\d+)/.exec(await run('a', 'df -m / | tail -n 1')) ?? []
  t.ok(Number(size) > 90 && Number(size) <= 110, `${size} MB`)
  t.equal(await run('a', 'cat /kept'), 'kept\n')
  const metrics = (await s.call('GET', '/metrics')).text
  t.match(metrics, /^hutch_storage_bytes\{state="promised"\} 283115520$/m, '110 + 80 + 80 MB')
  t.match(metrics, /^hutch_storage_bytes\{state="used"\} \d{8,9}$/m)
})

await t.test('what is deleted gives back the disk and the promise, and leaves no device', async t => {
  for (const name of names) await s.call('DELETE', `/v0/sandboxes/${name}`)
  for (const name of names) await s.until(name, body => body.status === 'TERMINATED')
  t.same(await loopsLeft(join(s.dataDir, 'machines')), [])
  t.equal((await create('e', 200)).status, 200)
  await s.until('e', body => body.status === 'DEPLOYED')
  await s.call('DELETE', '/v0/sandboxes/e')
  await s.until('e', body => body.status === 'TERMINATED')
  await s.stop()
  t.same(await loopsLeft(join(s.dataDir, 'machines')), [])
  for (const dir of mounted) execFileSync('umount', ['--lazy', dir])
})
