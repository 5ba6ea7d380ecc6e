import '../../support/native.ts'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { daemon } from '../../support/daemon.ts'

const unshare = ['--mount', '--propagation', 'private', '--'] as const
const possible = spawnSync('/usr/bin/unshare', [...unshare, '/bin/true']).status === 0

t.test('drives are mounted, listed and taken away', { skip: !possible && 'needs a mount namespace' }, async t => {
  const program = join(import.meta.dirname, '../../programs/drives.ts')
  const out = execFileSync('/usr/bin/unshare', [...unshare, process.execPath, program, t.testdir()], {
    encoding: 'utf8',
  })
  const mount = { driveName: 'one', mountPath: '/new/sub', drivePath: '/sub', readOnly: false, uidMap: '', gidMap: '' }
  t.strictSame(JSON.parse(out), {
    none: [],
    mounted: [200, { success: true, message: 'Drive mounted successfully', ...mount }],
    content: 'text',
    again: 200,
    'another there': 409,
    'another directory there': 409,
    write: 'done',
    'written to the drive': true,
    'read-only': 200,
    'write read-only': 'EROFS',
    list: [mount, { ...mount, mountPath: '/existing', drivePath: '/', readOnly: true }],
    'directory made in the drive': [200, true],
    'unknown drive': [404, 'string'],
    'over a link': [400, 'string'],
    'below a link': [400, 'string'],
    'over a file': [400, 'string'],
    'a link in the drive': [400, 'string'],
    'a missing directory, read-only': [400, 'string'],
    'over the drives': [400, 'string'],
    'with a map': [400, 'string'],
    'left behind': [],
    'link untouched': [0, 0],
    'unmount new/sub': [200, '/new/sub'],
    'unmount existing': [200, '/existing'],
    'unmount made': [200, '/made'],
    after: [],
    owners: { made: [4711, 4712], parent: [0, 0], existing: [0, 0] },
    'unmount again': 404,
    'unmount what is no drive': 404,
    'drive keeps its owner': [0, 0],
  })
})

t.test('requests that make no sense are refused by name and mount nothing', async t => {
  const { call } = await daemon(t)
  const good = { driveName: 'one', mountPath: '/mnt/x' }
  for (const [body, field] of [
    [undefined, /body/],
    [[], /body/],
    [{}, /driveName/],
    [{ ...good, driveName: '' }, /driveName/],
    [{ ...good, driveName: '-a' }, /driveName/],
    [{ ...good, driveName: 'a/b' }, /driveName/],
    [{ ...good, driveName: '..' }, /driveName/],
    [{ ...good, driveName: 'a\n' }, /driveName/],
    [{ ...good, driveName: 'a'.repeat(129) }, /driveName/],
    [{ ...good, driveName: 7 }, /driveName/],
    [{ ...good, mountPath: '' }, /mountPath/],
    [{ ...good, mountPath: '/a/../b' }, /mountPath/],
    [{ ...good, mountPath: `/${'a'.repeat(512)}` }, /mountPath/],
    [{ ...good, mountPath: '/a\0b' }, /mountPath/],
    [{ ...good, mountPath: '/proc/x' }, /mountPath/],
    [{ ...good, mountPath: '/' }, /mountPath/],
    [{ ...good, drivePath: 'a' }, /drivePath/],
    [{ ...good, drivePath: '/a/..' }, /drivePath/],
    [{ ...good, readOnly: 'yes' }, /readOnly/],
    [{ ...good, uidMap: '-1' }, /uidMap/],
    [{ ...good, uidMap: 'root' }, /uidMap/],
    [{ ...good, gidMap: '99999999999' }, /gidMap/],
  ] as const) {
    const { status, body: answer } = await call('POST', '/drives/mount', { body })
    t.equal(status, 400, JSON.stringify(body))
    t.match(answer.error, field)
  }
  t.same((await call('GET', '/drives/mount')).body, { mounts: [] })
})

t.test('nothing is unmounted that is no drive', async t => {
  const { call } = await daemon(t)
  for (const [path, status] of [
    ['/drives/mount/', 400],
    ['/drives/mount/proc', 404],
    ['/drives/mount/no%2Fsuch', 404],
    ['/drives/mount/a%00', 400],
    [`/drives/mount/${'a'.repeat(600)}`, 400],
  ] as const)
    t.equal((await call('DELETE', path)).status, status, path.slice(0, 40))
})
