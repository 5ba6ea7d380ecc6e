/** Sandboxes that fill the disk of a real server, whose data directory is on a disk of its own. */
import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { loopsLeft } from '../support/oci.ts'
import { server, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

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
  const [, inodes] = /\n\S+\s+(\d+)/.exec(df) ?? []
  t.ok(Number(inodes) > 9_000 && Number(inodes) <= 80 * 128, `${inodes} files: one for 8 KiB`)
  const fill =
    'i=0; while dd if=/dev/zero bs=64k of=/fill.$i count=64; do i=$((i+1)); done; touch /here; id -u; ls / | grep -c fill'
  const said = await Promise.all(names.map(name => run(name, fill)))
  for (const text of said) {
    t.match(text, /No space left on device/)
    t.notMatch(text, /[Ii]\/[Oo] error|Read-only/)
    t.match(text, /^0\n1[0-9]\n/m, 'as root, and more than 40 MB fitted')
  }
  const { status: shown, body: usage } = await s.call('GET', '/v0/sandboxes/a/usage')
  t.equal(shown, 200)
  t.equal(usage.diskLimitBytes, 80 * 1024 ** 2)
  t.ok(usage.diskBytes > 40 * 1024 ** 2 && usage.diskBytes <= usage.diskLimitBytes, `${usage.diskBytes} bytes`)
  t.ok(usage.memoryBytes > 1024 ** 2 && usage.cpuMs > 0, JSON.stringify(usage))
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
  await run('b', 'for size in 4k 1k; do dd if=/dev/zero of=/last.$size bs=$size; sync -f /; done')
  t.equal((await s.call('POST', '/v0/sandboxes/b/restart')).status, 200)
  await s.until('b', body => body.status === 'DEPLOYED')
  const last = '/default/sandboxes/b/filesystem//last.4k'
  t.equal((await s.call('DELETE', last)).status, 200, 'started again to its last byte full, it can be emptied')
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

await t.test(
  'a host whose disk others have filled serves who is awake, says so to the others, and loses nothing',
  async t => {
    t.equal(await run('a', 'echo kept > /kept; cat /kept'), 'kept\n')
    const label = (round: number) =>
      s.call('PUT', '/v0/sandboxes/b', { metadata: { labels: { round: `${round}` } }, spec: {} })
    t.equal((await label(-1)).status, 200)
    const filler = join(s.dataDir, 'filler')
    // Until there is no room, which dd says with an exit code of its own.
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'], { stdio: 'ignore' })
    t.match(await s.call('GET', '/healthz'), { status: 503, body: { status: 'failing', disk: 'full' } })
    t.match(await create('f', 8), { status: 503, body: { error: 'NO_ROOM' } })
    t.equal(await run('a', 'cat /kept'), 'kept\n')
    // Small ones may find room in what the database has already; one of them does not.
    let kept = -1
    for (let round = 0; round < 300; round++) {
      const { status, body } = await label(round)
      if (status === 200) kept = round
      else {
        t.match([status, body], [503, { error: 'unavailable', message: /the disk of the data directory is full/ }])
        break
      }
    }
    t.match(await s.call('DELETE', '/v0/sandboxes/b'), { status: 503, body: { error: 'unavailable' } })
    const { metadata, status } = (await s.call('GET', '/v0/sandboxes/b')).body
    t.same(
      [metadata.labels, status],
      [{ round: `${kept}` }, 'DEPLOYED'],
      'what was said to be written is, nothing else',
    )
    rmSync(filler)
    await until(async () => (await s.call('GET', '/healthz')).status === 200, 'health to say that there is room')
    t.equal((await label(9_999)).status, 200)
  },
)

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
