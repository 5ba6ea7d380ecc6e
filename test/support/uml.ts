/**
 * A kernel of Debian's as a process of the box (user-mode Linux, https://docs.kernel.org/virt/uml/user_mode_linux_howto_v2.html), for what this box's own
 * kernel has not: project quotas of XFS and ext4. It boots in seconds and computes as fast as the box does, where QEMU without KVM takes ten times
 * as long; it has one processor, no memory controller, and the files of the box as its own.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkout, findInPath } from './chroot.ts'

const packages = {
  'linux.uml': 'user-mode-linux',
  'mkfs.xfs': 'xfsprogs',
  'mkfs.ext4': 'e2fsprogs',
  // The other package, which would take the place of this one, needs libraries: no machine has them.
  busybox: 'busybox-static',
}

/** Installs what is missing, and nothing else: the box may need what it has. */
export const whyNoUml = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = () => Object.entries(packages).flatMap(([program, name]) => (findInPath(program) ? [] : [name]))
  if (missing().length === 0) return undefined
  const install = ['-y', '-qq', '--no-install-recommends', 'install', ...missing()]
  try {
    execFileSync('apt-get', install, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'ignore' })
  } catch {
    return `needs the packages ${missing().join(', ')} of Debian`
  }
  return undefined
}

export const umlKinds = ['xfs', 'ext4'] as const
const diskBytes = 3 * 1024 ** 3

/** Its first process. Both disks are mounted with project quotas, XFS at `/mnt/xfs` and ext4 at `/mnt/ext4`. */
const initOf = (lines: string): string => `#!/bin/bash
export HOME=/run PATH=${process.env['PATH']}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /mnt
mkdir -p /dev/shm /mnt/xfs /mnt/ext4
mount -t tmpfs tmpfs /dev/shm
begin() {
  for module in quota_tree quota_v2; do busybox insmod /usr/lib/uml/modules/$(uname -r)/kernel/fs/quota/$module.ko || return; done
  mkfs.xfs -q -f /dev/ubda && mount -o prjquota /dev/ubda /mnt/xfs || return
  mkfs.ext4 -q -F -O quota,project /dev/ubdb && mount -o prjquota /dev/ubdb /mnt/ext4
}
cd ${checkout}
begin && bash <<'LINES'
${lines}
LINES
echo "<exit $?>"
sync
echo o >/proc/sysrq-trigger
sleep 60
`

/**
 * Runs lines of bash as root in the checkout, in one that is there for them alone; `dir` takes its disks, and `options` are the kernel's. What it said,
 * kernel and all, and their exit code.
 */
export const runInUml = async (
  dir: string,
  lines: string,
  options: readonly string[] = [],
): Promise<{ out: string; code: number | undefined }> => {
  const init = join(dir, 'init')
  writeFileSync(init, initOf(lines), { mode: 0o755 })
  const disks = umlKinds.map((kind, at) => {
    const file = join(dir, kind)
    writeFileSync(file, '')
    truncateSync(file, diskBytes)
    return `ubd${'ab'[at]}=${file}`
  })
  const machine = ['rootfstype=hostfs', 'rw', `init=${init}`, 'mem=2G', `uml_dir=${dir}/`, ...disks, ...options]
  // It ends with the test, however that ends.
  const command = ['--pdeathsig', 'TERM', 'linux.uml', ...machine, 'con=null', 'con0=null,fd:1']
  const child = spawn('setpriv', command, { stdio: ['ignore', 'pipe', 'ignore'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (out += piece))
  await once(child, 'close')
  const code = /^<exit (\d+)>/m.exec(out)?.[1]
  return { out, code: code === undefined ? undefined : Number(code) }
}
