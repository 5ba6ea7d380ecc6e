/** Machines and files of versions before, whose machines had the users of the box. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Machine } from '../../../../../control/drivers/driver.ts'
import { filesOf } from '../../../../../control/drivers/oci/layout.ts'
import { readMarker, type Marker } from '../../../../../control/drivers/oci/marker.ts'
import { convertUpper } from '../../../../../control/drivers/oci/users/convert.ts'
import { strangerIn } from '../../../../../control/drivers/oci/users/layers.ts'
import type { Log } from '../../../../../shared/log.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { makeRootfs } from '../../../../support/machine.ts'
import { makeKit, openBox, sh, type Box } from '../../../../support/oci.ts'
import { whyNoOwnUsers } from '../../../../support/users.ts'
import { skipFile } from '../../../../support/skip-file.ts'

skipFile(await whyNoOwnUsers(t.testdir()))

const kit = makeKit(t.testdir())

/** The image's files that the tenant of before has found. */
const makeImage = (dir: string): string => {
  const rootfs = makeRootfs(dir)
  for (const path of ['kept/sub', 'deleted/sub', 'replaced/sub', 'renamed/inner/leaf', 'moved', 'twice/a/b'])
    mkdirSync(join(rootfs, path), { recursive: true })
  for (const path of [
    'kept/sub/one',
    'kept/two',
    'deleted/sub/x',
    'replaced/old',
    'renamed/file',
    'renamed/inner/leaf/deep',
  ])
    writeFileSync(join(rootfs, path), `image ${path}\n`)
  for (const path of ['moved/into', 'twice/a/b/c', 'mode', 'owner', 'gone'])
    writeFileSync(join(rootfs, path), `image ${path}\n`)
  return rootfs
}

/** What the tenant of before has done, in an overlay of then; `odd` is where the kernel records renames and owners only. */
const deeds = (odd: boolean): string => `
  set -e
  cd "$1"
  rm gone kept/two
  rm -r deleted
  rm -r replaced; mkdir replaced; echo new > replaced/new
  mkdir -p mine/own; echo mine > mine/own/file
  chmod 600 mode; chown 1234:567 owner; ln -s /etc/passwd link; mkfifo pipe; echo x > 'line
break'
  python3 -c 'import os; os.setxattr("kept", "user.overlay.opaque", b"y"); os.setxattr("mine", "user.note", b"kept")'
  ${odd ? 'mv renamed renamed2; mv renamed2/inner renamed2/inner2; echo more > renamed2/more; rm renamed2/file' : ''}
  ${odd ? 'mv moved mine/moved; mv twice/a twice/z; mv twice twice2; mkdir renamed; echo again > renamed/again' : ''}
`

/** A machine of the version before: its upper directory, and the marker it had. */
const machineOfBefore = (box: Pick<Box, 'dataDir'>, id: string, image: string, odd: boolean): string => {
  const files = filesOf(box.dataDir, id)
  for (const directory of [files.upper, files.work, files.root]) mkdirSync(directory, { recursive: true })
  const more = odd ? ',redirect_dir=on,metacopy=on' : ',redirect_dir=off,metacopy=off'
  const options = `lowerdir=${image},upperdir=${files.upper},workdir=${files.work}${more}`
  const script = `mount -t overlay -o "$2" overlay "$1" && ${`sh -c '${deeds(odd).replaceAll("'", "'\\''")}' sh "$1"`}`
  execFileSync('unshare', ['--mount', 'sh', '-c', script, 'sh', files.root, options])
  const marker = { slot: 900, address: '10.89.0.1', gateway: '10.89.0.0', port: 8080, memoryMb: 256, cpus: 1 }
  writeFileSync(files.marker, JSON.stringify({ ...marker, ready: true, kept: true }))
  return files.upper
}

const expectFiles = async (t: Test, machine: Machine, odd: boolean): Promise<void> => {
  const look = async (line: string) => (await sh(machine, `cd /; ${line}`)).out
  t.equal(
    await look('ls gone deleted kept/two replaced/old 2>&1 | grep -c "No such"'),
    '4\n',
    'what is deleted stays so',
  )
  t.equal(await look('cat kept/sub/one replaced/new mine/own/file line*'), 'image kept/sub/one\nnew\nmine\nx\n')
  t.equal(await look('stat -c "%a %u:%g" mode owner'), '600 0:0\n644 1234:567\n')
  t.equal(await look('cat mode owner'), 'image mode\nimage owner\n', 'content that the image has')
  t.equal(await look('readlink link; test -p pipe && echo pipe'), '/etc/passwd\npipe\n')
  if (!odd) return
  t.equal(
    await look('find renamed2 renamed | sort'),
    [
      'renamed',
      'renamed/again',
      'renamed2',
      'renamed2/inner2',
      'renamed2/inner2/leaf',
      'renamed2/inner2/leaf/deep',
      'renamed2/more\n',
    ].join('\n'),
  )
  t.equal(
    await look('cat renamed2/inner2/leaf/deep mine/moved/into twice2/z/b/c'),
    'image renamed/inner/leaf/deep\nimage moved/into\nimage twice/a/b/c\n',
  )
  t.equal(await look('ls -d moved twice twice2/a 2>&1 | grep -c "No such"'), '3\n')
}

/** Puts the machine's first process to an end, and starts it again. */
const again = async (box: Box, machine: Machine, more = {}): Promise<Machine> => {
  await sh(machine, 'kill -TERM 1').catch(() => undefined)
  const phase = async () => (await box.driver.list()).find(({ id }) => id === machine.id)?.phase
  for (const end = performance.now() + 30_000; (await phase()) !== 'stopped' && performance.now() < end; )
    await new Promise(resolve => setTimeout(resolve, 10))
  return box.driver.create(box.spec(machine.id, more))
}

for (const odd of [false, true])
  t.test(`files of before${odd ? ', where directories were renamed by reference' : ''}`, async t => {
    const image = makeImage(join(t.testdir(), 'image'))
    const box = await openBox(t, kit, { settings: { slotsAhead: 1 } })
    const upper = machineOfBefore(box, 'a', image, odd)
    const spec = box.spec('a', { rootfs: image })
    const machine = await box.driver.create(spec)
    t.match((await sh(machine, 'cat /proc/self/uid_map')).out, /^\s+0\s+\d{9,}\s+65536/, 'it has users of its own now')
    await expectFiles(t, machine, odd)
    t.equal(
      (
        await sh(
          machine,
          'echo changed >> /kept/sub/one; rm -r /mine/own; mkdir /mine/own; rm -r /replaced; mkdir /replaced; ls -A /mine/own /replaced',
        )
      ).out,
      '/mine/own:\n\n/replaced:\n',
    )
    t.equal(statSync(join(upper, 'owner')).uid, 1234, 'ids on disk are as they were')
    t.notOk(existsSync(filesOf(box.dataDir, 'a').settling), 'no copy is left')
    const later = await again(box, machine, { rootfs: image })
    t.equal(
      (await sh(later, 'cat /kept/sub/one; ls -A /mine/own /replaced')).out,
      'image kept/sub/one\nchanged\n/mine/own:\n\n/replaced:\n',
      'marks of today are not converted again',
    )
  })

t.test('a conversion that was killed is done again, and one that is done changes nothing', async t => {
  const dir = t.testdir()
  const image = makeImage(join(dir, 'image'))
  const box = { dataDir: join(dir, 'data') }
  const upper = machineOfBefore(box, 'a', image, true)
  const files = filesOf(box.dataDir, 'a')
  mkdirSync(join(files.settling, 'copy/half'), { recursive: true })
  const list = () => execFileSync('python3', ['-c', program, upper], { encoding: 'utf8' })
  await convertUpper(files, image)
  const once = list()
  t.match(once, /mine user\.note/, "the tenant's attributes stay")
  t.notMatch(once, /kept user\.overlay\.opaque|redirect|metacopy/)
  t.match(once, /replaced user\.overlay\.opaque[^]*twice2 user\.overlay\.opaque/)
  await convertUpper(files, image)
  t.equal(list(), once)
})

const program = `
import os, sys
for top, directories, files in sorted(os.walk(sys.argv[1])):
    for name in sorted(directories + files):
        path = os.path.join(top, name)
        for attribute in sorted(os.listxattr(path, follow_symlinks=False)):
            if 'origin' not in attribute and 'impure' not in attribute:
                print(os.path.relpath(path, sys.argv[1]), attribute)
`

t.test('trees that are deeper than any path may be long', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'hutch-deep-'))
  t.teardown(() => execFileSync('rm', ['-rf', dataDir]))
  const deep = join(dataDir, 'machines/a/upper')
  mkdirSync(deep, { recursive: true })
  execFileSync('python3', [
    '-c',
    'import os, sys\nos.chdir(sys.argv[1])\nfor i in range(3000):\n os.mkdir("d" * 40); os.chdir("d" * 40)\nos.setxattr(".", "trusted.overlay.opaque", b"y"); open("far", "w")\nos.chown("far", 70000, 0)',
    deep,
  ])
  await convertUpper(filesOf(dataDir, 'a'), kit.rootfs)
  t.match(await strangerIn(deep), /d\/far belongs to user 70000, /)
})

t.test('a machine that runs without users of its own goes on so, and gets some when it is started again', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 1, userNamespaces: 'off' } })
  const machine = await box.driver.create(box.spec('a'))
  t.match(
    (await sh(machine, 'echo kept > /kept; rm -r /tmp; mkdir /tmp; cat /proc/self/uid_map')).out,
    / 0 +4294967295/,
  )
  await box.driver.close()
  const next = { ...box, driver: await box.reopen({ slotsAhead: 1 }) }
  t.same(await next.driver.list(), [machine])
  t.same(await next.driver.create(box.spec('a')), machine, 'it is not touched')
  await next.driver.freezer?.freeze('a')
  await next.driver.freezer?.thaw('a')
  const later = await again(next, machine)
  t.match((await sh(later, 'cat /kept /proc/self/uid_map')).out, /^kept\n +0 +\d{9,} +65536\n/)
  t.equal((await sh(later, 'ls -ln /kept')).out.split(/ +/)[2], '0')
})

const noting = (lines: object[]): Log => ({
  ...silentLog,
  with: () => noting(lines),
  warn: (event, about) => void lines.push({ event, ...about }),
})

t.test('files of users that a machine with users of its own does not have', async t => {
  const dir = t.testdir()
  const image = makeRootfs(join(dir, 'image'))
  writeFileSync(join(image, 'etc/theirs'), '')
  chownSync(join(image, 'etc/theirs'), 70_000, 0)
  const lines: { event?: string; reason?: string }[] = []
  const box = await openBox(t, kit, { settings: { slotsAhead: 1 }, log: noting(lines) })
  await t.rejects(box.driver.create(box.spec('new', { rootfs: image })), {
    code: 'driver_failed',
    message: /\/etc\/theirs belongs to user 70000, and sandboxes have users and groups 0 to 65535/,
  })
  t.same(await box.driver.list(), [], 'an image is refused by name, and nothing is left')

  const usual = makeImage(join(dir, 'usual'))
  const upper = machineOfBefore(box, 'a', usual, false)
  mkdirSync(join(upper, 'far'))
  chownSync(join(upper, 'far'), 0, 4_000_000)
  const machine = await box.driver.create(box.spec('a'))
  t.match(
    (await sh(machine, 'stat -c %g /far; cat /proc/self/uid_map')).out,
    /^4000000\n +0 +0 +4294967295/,
    'it goes on as it was',
  )
  t.match(lines, [{ event: 'users.shared', reason: /\/far belongs to group 4000000/ }], 'and that is said')
  await sh(machine, 'chown 0:0 /far')
  t.match(
    (await sh(await again(box, machine, { rootfs: usual }), 'cat /proc/self/uid_map')).out,
    /65536/,
    'until they are changed',
  )
})

t.test('an operator who insists is told instead', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 0, userNamespaces: 'on' } })
  const rootfs = makeImage(join(t.testdir(), 'image'))
  const upper = machineOfBefore(box, 'a', rootfs, false)
  mkdirSync(join(upper, 'far'))
  chownSync(join(upper, 'far'), 65_536, 0)
  await t.rejects(box.driver.create(box.spec('a', { rootfs })), {
    code: 'driver_failed',
    message: /\/far belongs to user 65536/,
  })
  const marker = (await readMarker(filesOf(box.dataDir, 'a').marker)) as Marker
  t.match(marker, { kept: true, marks: 'trusted' }, 'nothing is lost by that')
  t.ok(readFileSync(join(upper, 'mine/own/file')))
  await t.rejects(openBox(t, kit, { runtime: 'runsc', settings: { userNamespaces: 'on' } }), {
    code: 'driver_failed',
    message: /HUTCH_USER_NAMESPACES=on.*gVisor/,
  })
})
