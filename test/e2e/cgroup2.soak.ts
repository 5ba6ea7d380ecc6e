/** Debian's own kernel (6.1) with systemd and version-2 control groups, as most boxes have: in a virtual machine of QEMU. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkout, findInPath } from '../support/chroot.ts'
import { bootVm } from '../support/vm.ts'
import { makeDisk } from '../support/vm-disk.ts'

/** Why there can be no such machine here, or undefined. */
const whyNot = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'needs root'
  if (findInPath('qemu-system-x86_64')) return undefined
  const install = ['-y', '-qq', '--no-install-recommends', 'install', 'qemu-system-x86']
  try {
    execFileSync('apt-get', install, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'ignore' })
    return undefined
  } catch {
    return 'needs qemu-system-x86_64 (Debian: qemu-system-x86)'
  }
}

const why = whyNot()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

t.test('the box has version 2 alone, and the doctor finds that sandboxes can run there', async t => {
  mkdirSync(join(checkout, '.runtime'), { recursive: true })
  const dir = mkdtempSync(join(checkout, '.runtime/vm-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const vm = await bootVm(makeDisk(dir), dir)
  t.teardown(() => vm.end())
  const kind = await vm.run('stat -fc %T /sys/fs/cgroup; uname -r')
  t.match(kind.out, /^cgroup2fs\s+6\.1\./)
  t.comment(kind.out)
  const { out, code } = await vm.run('HUTCH_DATA_DIR=/var/lib/hutch node control/main.ts doctor', 600)
  t.equal(code, 0, out)
  for (const line of [
    'control groups: version 2',
    'runc starts a container',
    'users of their own',
    'a disk of its own',
  ])
    t.match(out, new RegExp(`^  ok +${line}`, 'm'), line)
})
