/** A machine with project quotas whose backup comes to a box that has none. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { filesOf } from '../../../../../control/drivers/oci/layout.ts'
import { whyNoMachines } from '../../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../../support/oci.ts'
import { skipFile } from '../../../../support/skip-file.ts'

skipFile(whyNoMachines())
const place = execFileSync('stat', ['-c', '%m', tmpdir()], { encoding: 'utf8' }).trim()
// Nothing is printed where projects are not counted; the program may be missing, too.
const { stdout } = spawnSync('xfs_quota', ['-f', '-x', '-c', 'state -p', place], { encoding: 'utf8' })
skipFile(/Accounting: ON/.test(stdout ?? '') && 'TMPDIR has projects: nothing comes from elsewhere')
const kit = makeKit(t.testdir())

const made = `mkdir -p /srv/deep; busybox head -c 3000000 /dev/urandom > /srv/deep/noise; ln /srv/deep/noise /srv/linked; ln -s deep /srv/pointer
busybox mkfifo /srv/pipe; busybox chown 7:8 /srv/pipe; chmod 4751 /srv/linked; busybox rm /etc/passwd; echo mine > /etc/hosts.mine`
const shown =
  'cd /srv; busybox md5sum deep/noise linked; busybox stat -c "%n %F %u %g %a %h" * deep/*; busybox readlink pointer; ls /etc/passwd; cat /etc/hosts.mine'

t.test('its files become a disk of their own, with all they are, and have the end they had', async t => {
  const { driver, spec, dataDir } = await openBox(t, kit)
  const first = await driver.create(spec('a'))
  t.equal((await sh(first, made)).code, 0)
  const before = (await sh(first, shown)).out
  t.match(before, /noise/)
  await driver.end('a')
  const files = filesOf(dataDir, 'a')
  const mount = join(dataDir, 'mounted')
  mkdirSync(mount)
  execFileSync('mount', ['-o', 'loop', files.disk, mount])
  for (const tree of [files.upper, files.private])
    execFileSync('cp', ['-a', mount + tree.slice(files.dir.length), tree])
  execFileSync('umount', [mount])
  rmSync(files.disk)
  const marker = JSON.parse(readFileSync(files.marker, 'utf8'))
  writeFileSync(files.marker, JSON.stringify({ ...marker, disk: { mb: 64, room: 64, project: 2 ** 30 + 5 } }))
  const again = await driver.create(spec('a'))
  t.equal((await sh(again, shown)).out, before)
  t.notOk(existsSync(files.upper) || existsSync(files.settling), 'they are nowhere else')
  const { out } = await sh(again, 'dd if=/dev/zero of=/fill bs=64k; busybox df -m / | busybox tail -n 1')
  t.match(out, /No space left on device/)
  const [, used] = /\s\d+\s+(\d+)\s+0\s+100%/.exec(out) ?? []
  t.ok(Number(used) > 55 && Number(used) <= 64, out)
  await driver.remove('a')
})

t.test('what was interrupted is begun anew', async t => {
  const { driver, spec, dataDir } = await openBox(t, kit)
  await driver.create(spec('a'))
  await driver.end('a')
  const files = filesOf(dataDir, 'a')
  rmSync(files.disk)
  // The one is moved, the other is not, and the marker says already what is to be.
  mkdirSync(files.private)
  mkdirSync(join(files.settling, 'upper/srv'), { recursive: true })
  writeFileSync(join(files.settling, 'upper/srv/kept'), 'kept')
  writeFileSync(`${files.disk}.new`, 'half')
  t.equal((await sh(await driver.create(spec('a')), 'cat /srv/kept')).out, 'kept')
  await driver.end('a')
  // All was done but for tidying up.
  mkdirSync(join(files.settling, 'upper'), { recursive: true })
  t.equal((await sh(await driver.create(spec('a')), 'cat /srv/kept')).out, 'kept')
  t.notOk(existsSync(files.settling))
})
