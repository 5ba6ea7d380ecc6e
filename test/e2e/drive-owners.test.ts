/** Drives in sandboxes whose workload is not root, through the real server. */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { drivesDirectory } from '../support/drives.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

/** The file system of the drives is a tmpfs, which can be shown under other owners since Linux 6.3. */
const isOlder = (): boolean => {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return major < 6 || (major === 6 && minor < 3)
}

skipFile(whyNoMachines() ?? (isOlder() ? 'needs Linux 6.3' : undefined))

const sandbox = async (s: Server, name: string, user?: string): Promise<string> => {
  const given = user === undefined ? {} : { SVC_SANDBOX_USER: user, SVC_SANDBOX_USER_ENABLED: 'true' }
  const envs = Object.entries(given).map(([key, value]) => ({ name: key, value }))
  const spec = { runtime: { image: 'svc/busybox:latest', memory: 256, envs } }
  const { status, body, text } = await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })
  if (status !== 200) throw new Error(`no sandbox: ${text}`)
  return body.metadata.url
}

const verbs = (s: Server) => ({
  mount: (url: string, body: object) => s.call('POST', `${url}/drives/mount`, body),
  run: async (url: string, command: string): Promise<string> =>
    (await s.call('POST', `${url}/process`, { command: `{ ${command}; } 2>&1`, waitForCompletion: true })).body.stdout,
})

/** A drive "plain" on a file system whose owners cannot be shown as others. */
const plainDrive = (base: string): void => {
  const plain = join(base, 'default/plain')
  mkdirSync(plain, { recursive: true })
  execFileSync('mount', ['-t', 'ramfs', 'hutch-test', plain])
}

t.test('a drive can be used by a workload that is not root, and by all of them together', async t => {
  const base = drivesDirectory(t)
  const given = join(base, 'default/given')
  mkdirSync(given)
  chownSync(given, 10_001, 10_001)
  const s = await server(t, { HUTCH_DRIVES_DIR: base })
  const [app, other, root] = await Promise.all([
    sandbox(s, 'app', '10001'),
    sandbox(s, 'other', '20002:30003'),
    sandbox(s, 'root'),
  ])
  const { mount, run } = verbs(s)
  const onDisk = (path: string) => {
    const { uid, gid } = statSync(join(base, 'default', path))
    return `${uid}:${gid}`
  }

  await t.test('each user finds the drive its own', async t => {
    t.match(await mount(app, { driveName: 'data', mountPath: '/mnt/data' }), {
      status: 200,
      body: { uidMap: '10001', gidMap: '10001' },
    })
    t.match(await mount(other, { driveName: 'data', mountPath: '/mnt/data' }), {
      status: 200,
      body: { uidMap: '20002', gidMap: '30003' },
    })
    t.match(await mount(root, { driveName: 'data', mountPath: '/mnt/data' }), { status: 200, body: { uidMap: '' } })
    t.equal(
      await run(app, 'id -u; stat -c %u:%g /mnt/data; echo a > /mnt/data/a; stat -c %u:%g /mnt/data/a'),
      '10001\n10001:10001\n10001:10001\n',
    )
    t.equal(onDisk('data/a'), '0:0', "on disk it is the drive's owner")
    t.equal(
      await run(other, 'echo b >> /mnt/data/a; stat -c %u:%g /mnt/data/a; mkdir /mnt/data/d; touch /mnt/data/d/x'),
      '20002:30003\n',
    )
    t.equal(await run(root, 'cat /mnt/data/a; stat -c %u:%g /mnt/data/d/x; touch /mnt/data/r'), 'a\nb\n0:0\n')
    t.equal(await run(app, 'rm -r /mnt/data/d /mnt/data/r; chmod 600 /mnt/data/a; ls /mnt/data'), 'a\nway-out\n')
    t.match((await s.call('PUT', `${app}/filesystem//mnt/data/f`, { content: 'by the API' })).status, 200)
    t.equal(onDisk('data/f'), '0:0')
  })

  await t.test('nobody becomes root by it, here or there', async t => {
    t.match(await run(app, 'chown 0:0 /mnt/data/a'), /not permitted/)
    t.match(await run(app, 'touch /root/x /etc/x'), /denied[^]*denied/)
    await run(root, 'cp /bin/busybox /mnt/data/busybox; chmod 4755 /mnt/data/busybox')
    t.equal(await run(app, '/mnt/data/busybox id -u'), '10001\n', 'setuid does not count')
    t.equal(await run(other, 'stat -c %U /mnt 2>/dev/null; stat -c %u /mnt'), 'root\n0\n')
    await run(app, 'rm -f /mnt/data/busybox')
  })

  await t.test('read-only is so for whom it belongs to', async t => {
    t.equal((await mount(app, { driveName: 'data', mountPath: '/mnt/ro', readOnly: true })).status, 200)
    t.match(await run(app, 'stat -c %u /mnt/ro/a; touch /mnt/ro/n'), /^10001\n.*Read-only/)
    t.equal((await mount(app, { driveName: 'data', mountPath: '/mnt/sub', drivePath: '/deep/er' })).status, 200)
    t.equal(await run(app, 'touch /mnt/sub/x && echo made'), 'made\n')
  })

  await t.test('a drive that was given to a user stays theirs; others may say whose it is to be', async t => {
    t.equal((await mount(app, { driveName: 'given', mountPath: '/mnt/given', drivePath: '/new' })).status, 200)
    t.equal(await run(app, 'touch /mnt/given/x; stat -c %u /mnt/given/x'), '10001\n')
    t.equal(onDisk('given/new'), '10001:10001', 'what a mount makes belongs to it, too')
    const asked = { driveName: 'given', mountPath: '/mnt/asked', uidMap: '40000', gidMap: '0' }
    t.match(await mount(root, asked), { status: 200, body: { uidMap: '40000', gidMap: '0' } })
    t.equal(await run(root, 'stat -c %u:%g /mnt/asked/new/x; touch /mnt/asked/r'), '40000:0\n')
    t.equal(onDisk('given/r'), '0:10001', 'root stays who he is, and the groups have changed places')
    for (const uidMap of ['4294967295', '65536'])
      t.match(await mount(root, { ...asked, mountPath: '/mnt/no', uidMap }), {
        status: 400,
        body: { error: /uidMap/ },
      })
  })

  await t.test(
    'an owner beyond the users that a sandbox has can be shown as one of them, and is nobody else',
    async t => {
      mkdirSync(join(base, 'default/far'))
      chownSync(join(base, 'default/far'), 700_000, 700_000)
      t.equal((await mount(app, { driveName: 'far', mountPath: '/mnt/far' })).status, 200)
      t.equal(await run(app, 'touch /mnt/far/x; stat -c %u /mnt/far/x'), '10001\n')
      t.equal(onDisk('far/x'), '700000:700000')
      t.equal((await mount(root, { driveName: 'far', mountPath: '/mnt/far' })).status, 200)
      t.match(await run(root, 'stat -c %u /mnt/far/x; touch /mnt/far/y'), /^65534\n.*denied/)
    },
  )

  await t.test('a file system that cannot show them to the users of a sandbox is told', async t => {
    plainDrive(base)
    for (const more of [{}, { uidMap: '10001' }])
      t.match(await mount(app, { driveName: 'plain', mountPath: '/mnt/plain', ...more }), {
        status: 500,
        body: { error: /cannot show its files to the users of a sandbox/ },
      })
  })
})

t.test('where sandboxes share the users of the box', async t => {
  const base = drivesDirectory(t)
  const s = await server(t, { HUTCH_DRIVES_DIR: base, HUTCH_USER_NAMESPACES: 'off' })
  const app = await sandbox(s, 'app', '10001')
  const { mount, run } = verbs(s)
  const asked = { driveName: 'data', mountPath: '/mnt/asked', uidMap: '4000000000', gidMap: '0' }
  t.match(await mount(app, asked), { status: 200, body: { uidMap: '4000000000', gidMap: '0' } })
  t.equal(await run(app, 'stat -c %u:%g /mnt/asked'), '4000000000:0\n', 'there are more of them')
  t.match(await run(app, 'ls /var/lib/hutchd'), 'No such file', "the daemon's state is not in their tree")

  plainDrive(base)
  t.match(await mount(app, { driveName: 'plain', mountPath: '/mnt/plain' }), { status: 200, body: { uidMap: '' } })
  t.match(await run(app, 'stat -c %u /mnt/plain; touch /mnt/plain/x'), /^0\n.*denied/, 'owners stay')
  t.match(await mount(app, { driveName: 'plain', mountPath: '/mnt/other', uidMap: '10001' }), {
    status: 500,
    body: { error: /leave uidMap/ },
  })
})
