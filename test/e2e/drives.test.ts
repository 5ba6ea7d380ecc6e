/** Drives through the real server: what sandboxes of one workspace share, and what nobody reaches. */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { drivesDirectory } from '../support/drives.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const sandbox = async (s: Server, name: string, workspace: string): Promise<string> => {
  const headers = { 'x-svc-workspace': workspace }
  const spec = { runtime: { image: 'svc/busybox:latest', memory: 256 } }
  const { status, body, text } = await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec }, headers)
  if (status !== 200) throw new Error(`no sandbox: ${text}`)
  return body.metadata.url
}

const mounted = (driveName: string, mountPath: string, more: object = {}) => ({
  driveName,
  mountPath,
  drivePath: '/',
  readOnly: false,
  uidMap: '',
  gidMap: '',
  ...more,
})

t.test('sandboxes share the drives of their workspace and nothing else', async t => {
  const base = drivesDirectory(t)
  const s = await server(t, { HUTCH_DRIVES_DIR: base, HUTCH_STANDBY_SECONDS: '1' })
  const made = await s.call('POST', '/v0/workspaces', { name: 'theirs' })
  t.equal(made.status, 200, made.text)
  const [a, b, stranger] = await Promise.all([
    sandbox(s, 'a', 'default'),
    sandbox(s, 'b', 'default'),
    sandbox(s, 'c', 'theirs'),
  ])
  const workspace = { 'x-svc-workspace': 'default' }
  const mount = (url: string, body: object) => s.call('POST', `${url}/drives/mount`, body)
  const list = async (url: string) => (await s.call('GET', `${url}/drives/mount`)).body.mounts
  const unmount = (url: string, path: string) =>
    s.call('DELETE', `${url}/drives/mount/${encodeURIComponent(path.slice(1))}`)
  /** Runs a shell line as root of the sandbox. */
  const run = async (url: string, command: string): Promise<{ exitCode: number; stdout: string }> =>
    (await s.call('POST', `${url}/process`, { command, waitForCompletion: true })).body
  const hostMounts = () =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter(line => line.includes(`${base}/default`) || line.includes(`${base}/theirs`))

  await t.test('an orderly end: time to put things away, asleep or not, and no more than was given', async t => {
    mkdirSync(join(base, 'default/ends'))
    const ending = async (name: string, seconds: number, command: string) => {
      const spec = { runtime: { image: 'svc/busybox:latest', memory: 256, terminationGracePeriodSeconds: seconds } }
      const url = (await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec }, workspace)).body.metadata.url
      t.equal((await mount(url, { driveName: 'ends', mountPath: 'mnt/ends' })).status, 200)
      const process = { command, name: 'job', restartOnFailure: true, maxRestarts: 5 }
      t.equal((await s.call('POST', `${url}/process`, process)).status, 200)
      await until(async () => existsSync(join(base, 'default/ends', `${name}.up`)), name)
      return () => s.call('DELETE', `/v0/sandboxes/${name}`, undefined, workspace)
    }
    const gone = (name: string) => async () =>
      (await s.call('GET', `/v0/sandboxes/${name}`, undefined, workspace)).body.status === 'TERMINATED'
    const mark = (name: string) => `echo > /mnt/ends/${name}`
    const wait = 'while :; do sleep 0.1; done'
    const tidy = await ending('tidy', 60, `trap '${mark('tidy.down')}; exit 1' TERM; ${mark('tidy.up')}; ${wait}`)
    const deaf = await ending('deaf', 1, `trap '' TERM; ${mark('deaf.up')}; ${wait}`)
    await until(
      async () => (await s.call('GET', '/v0/sandboxes/tidy', undefined, workspace)).body.state === 'STANDBY',
      'tidy to sleep',
    )
    await Promise.all([tidy(), deaf()])
    await until(gone('tidy'), 'tidy to end')
    t.ok(existsSync(join(base, 'default/ends/tidy.down')), 'it was asked, woken from its sleep, and not started again')
    await until(gone('deaf'), 'deaf to end')
  })

  await t.test('what one writes the other reads', async t => {
    t.same(await list(a), [])
    t.strictSame(await mount(a, { driveName: 'data', mountPath: 'mnt/data' }).then(({ body }) => body), {
      success: true,
      message: 'Drive mounted successfully',
      ...mounted('data', '/mnt/data'),
    })
    t.match(await mount(b, { driveName: 'data', mountPath: '/srv/deep/er' }), { status: 200 })
    await run(a, 'echo hello > /mnt/data/file')
    t.equal((await run(b, 'cat /srv/deep/er/file')).stdout, 'hello\n')
    t.equal(readFileSync(join(base, 'default/data/file'), 'utf8'), 'hello\n')
    t.same(await list(b), [mounted('data', '/srv/deep/er')])
    t.same(hostMounts(), [], 'the host itself has no mount of it')
  })

  await t.test('the same again is fine, another one there is a conflict', async t => {
    t.equal((await mount(a, { driveName: 'data', mountPath: '/mnt//data/' })).status, 200)
    t.equal((await mount(a, { driveName: 'other', mountPath: '/mnt/data' })).status, 409)
    t.equal((await mount(a, { driveName: 'data', mountPath: '/mnt/data', drivePath: '/sub' })).status, 409)
    t.equal(existsSync(join(base, 'default/data/sub')), false, 'a refused call changes nothing')
    t.equal((await list(a)).length, 1)
  })

  await t.test('the drives of another workspace do not exist', async t => {
    for (const driveName of ['secret', 'link', 'nope'])
      t.match(await mount(a, { driveName, mountPath: '/mnt/x' }), { status: 404, body: { error: /drive/ } }, driveName)
    t.equal((await mount(stranger, { driveName: 'data', mountPath: '/mnt/x' })).status, 404)
    t.equal((await mount(stranger, { driveName: 'secret', mountPath: '/mnt/x' })).status, 200)
    t.same(await list(stranger), [mounted('secret', '/mnt/x')])
    t.not((await run(a, 'ls /mnt/x')).exitCode, 0, 'not even the mount point was made')
    t.equal((await mount(a, { driveName: '..', mountPath: '/mnt/x' })).status, 400)
    t.equal((await mount(a, { driveName: 'data', mountPath: '/mnt/x', drivePath: '/../secret' })).status, 400)
  })

  await t.test('read-only is so for root of the sandbox, too', async t => {
    const wanted = mounted('data', '/mnt/ro', { readOnly: true })
    t.match(await mount(b, wanted), { status: 200, body: { readOnly: true } })
    t.equal((await run(b, 'cat /mnt/ro/file')).stdout, 'hello\n')
    for (const attempt of [
      'touch /mnt/ro/new',
      'mount -o remount,rw,bind /mnt/ro',
      'mount -o remount,rw /mnt/ro',
      'umount /mnt/ro',
      'umount -l /mnt/ro',
      'mount --bind /srv/deep/er /mnt/elsewhere',
      'unshare -m true',
      'nsenter -t 1 -m true',
    ])
      t.not((await run(b, `mkdir -p /mnt/elsewhere; ${attempt} 2>&1`)).exitCode, 0, attempt)
    t.equal((await run(b, 'touch /srv/deep/er/rw')).exitCode, 0, 'beside it the same drive can be written')
    t.same(await list(b), [mounted('data', '/srv/deep/er'), wanted])
    t.match((await run(b, 'grep " /srv/deep/er " /proc/mounts')).stdout, /nosuid.*nodev/)
    t.match(await mount(b, { ...wanted, mountPath: '/mnt/no', drivePath: '/missing' }), { status: 400 })
  })

  await t.test('links lead nowhere, on no side', async t => {
    await run(a, 'ln -s / /out; ln -s ../../../../../.. /mnt/up; mkdir -p /dir; echo text > /plain')
    for (const mountPath of ['/out', '/out/etc', '/mnt/up/root', '/plain', '/plain/below'])
      t.match(
        await mount(a, { driveName: 'other', mountPath }),
        { status: 400, body: { error: /mountPath/ } },
        mountPath,
      )
    for (const mountPath of ['/', '/proc/1', '/dev', '/sys/x', '/.hutch/bin', '/var/lib'])
      t.match(await mount(a, { driveName: 'other', mountPath }), { status: 400 }, mountPath)
    for (const drivePath of ['/way-out', '/way-out/new', '/file'])
      t.match(
        await mount(a, { driveName: 'data', mountPath: '/mnt/y', drivePath }),
        { status: 400, body: { error: /drivePath/ } },
        drivePath,
      )
    t.same(readdirSync(join(base, '../victim')), ['file'])
    t.equal((await list(a)).length, 1)
  })

  await t.test('a drive of a record is made with its first mount, and its rules hold', async t => {
    const rules = {
      permissions: [{ labels: { team: 'a' } }, { labels: { 'svc-name': 'b' }, mode: 'read', path: '/out' }],
    }
    const drive = await s.call('POST', '/v0/drives', { metadata: { name: 'ruled' }, spec: rules }, workspace)
    t.match(drive, { status: 200, body: { status: 'DEPLOYED' } })
    const ruled = (more: object = {}) => ({ driveName: 'ruled', mountPath: '/mnt/ruled', ...more })
    t.match(await mount(a, ruled()), { status: 403, body: { error: /no rule matches/ } })
    t.equal(existsSync(join(base, 'default/ruled')), false, 'nothing was made for it')
    const labels = { metadata: { labels: { team: 'a' } } }
    t.equal((await s.call('PUT', '/v0/sandboxes/a', labels, workspace)).status, 200)
    t.match(await mount(a, ruled()), { status: 200, body: { readOnly: false } })
    await run(a, 'mkdir /mnt/ruled/out; echo hello > /mnt/ruled/out/file')
    t.match(await mount(b, ruled()), { status: 403, body: { error: /\/out and below/ } })
    t.match(await mount(b, ruled({ drivePath: '/out' })), { status: 200, body: { readOnly: true } })
    t.equal((await run(b, 'cat /mnt/ruled/file')).stdout, 'hello\n')
    t.not((await run(b, 'touch /mnt/ruled/new')).exitCode, 0)
    t.equal((await mount(stranger, ruled())).status, 404)
    for (const url of [a, b]) t.equal((await unmount(url, '/mnt/ruled')).status, 200)
  })

  await t.test('a directory of a drive is made, a mount point keeps its owner', async t => {
    await run(a, 'mkdir /home/theirs; chown 1234:1234 /home/theirs')
    t.equal((await mount(a, { driveName: 'other', mountPath: '/home/theirs', drivePath: '/x/y' })).status, 200)
    t.equal(statSync(join(base, 'default/other/x/y')).isDirectory(), true)
    t.same((await list(a)).at(-1), mounted('other', '/home/theirs', { drivePath: '/x/y' }))
    t.match(await mount(a, { driveName: 'data', mountPath: '/home/theirs/nested' }), { status: 200 })
    t.same(readdirSync(join(base, 'default/other/x/y')), ['nested'], 'a mount point in a drive is a directory of it')
    t.same(
      readdirSync(join(base, 'default/other/x/y/nested')),
      [],
      'what is mounted there is seen in that sandbox only',
    )
    t.same(hostMounts(), [], 'nor on the host')
    t.same(await unmount(a, '/home/theirs/nested').then(({ body }) => body), {
      success: true,
      message: 'Drive unmounted successfully',
      mountPath: '/home/theirs/nested',
    })
    t.equal((await unmount(a, '/home/theirs')).status, 200)
    t.equal((await run(a, 'stat -c %u:%g /home/theirs')).stdout, '1234:1234\n')
    t.equal((await unmount(a, '/home/theirs')).status, 404)
    t.equal((await unmount(a, '/proc')).status, 404)
    t.equal((await unmount(a, '/')).status, 400)
  })

  await t.test('mounts outlive a sleep and the server', async t => {
    await s.until('a', body => body.state === 'STANDBY', workspace)
    t.same(await list(a), [mounted('data', '/mnt/data')])
    t.equal(await s.stop(), 0)
    await s.start()
    const again = (await s.call('GET', '/v0/sandboxes/a', undefined, workspace)).body.metadata.url
    t.same(await list(again), [mounted('data', '/mnt/data')])
    t.equal((await unmount(again, '/mnt/data')).status, 200)
    t.same(await list(again), [])
    t.equal((await run(again, 'ls -A /mnt/data')).stdout, '')
    t.equal((await mount(again, { driveName: 'data', mountPath: '/mnt/data' })).status, 200)
  })

  await t.test('a deleted sandbox leaves the files and no mount', async t => {
    for (const name of ['a', 'b']) await s.call('DELETE', `/v0/sandboxes/${name}`, undefined, workspace)
    for (const name of ['a', 'b']) await s.until(name, body => body.status === 'TERMINATED', workspace)
    t.equal(readFileSync(join(base, 'default/data/file'), 'utf8'), 'hello\n')
    t.equal(existsSync(join(base, 'default/data/rw')), true)
    t.same(hostMounts(), [])
  })
})
