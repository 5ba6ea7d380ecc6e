/** The disk of a virtual machine: a Debian with systemd and Debian's kernel, this checkout, and a program that takes orders. */
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { checkout } from './chroot.ts'
import { debianRoot } from './clean-root.ts'

/** systemd and a kernel, those of images/setup/apt.sh but npm, which is Node's, and what makes file systems. */
const packages =
  'systemd-sysv udev linux-image-cloud-amd64 initramfs-tools kmod procps dbus ca-certificates crun runc iptables iproute2 mmdebstrap gcc g++ make python3-minimal python3 busybox-static util-linux e2fsprogs xfsprogs btrfs-progs wireguard-tools wireguard-go ripgrep curl jq skopeo umoci openssl pebble patchelf git'

/** Where the checkout is in the machine. */
export const placeInside = '/srv/hutch'

/** Lines come as base64 on the second serial port, one order a line; what they say goes back, then their exit code. */
const agent = `#!/bin/bash
exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
export HOME=/root PATH=${placeInside}/.runtime/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd ${placeInside}
echo "<ready $(cat /proc/sys/kernel/random/boot_id)>" >&3
while read -r order <&3; do
  base64 -d <<<"$order" >/run/order
  bash /run/order </dev/null >&3 2>&1
  echo "<exit $?>" >&3
done
`

const unit = `[Unit]
Description=orders from outside
After=basic.target
[Service]
ExecStart=/usr/local/sbin/take-orders
# What it starts is the test's to end.
KillMode=process
Delegate=yes
[Install]
WantedBy=multi-user.target
`

const hardLinked = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true })
  execFileSync('cp', ['-al', from, to])
}

const putCheckout = (root: string): void => {
  const inside = join(root, placeInside)
  const runtime = join(checkout, '.runtime')
  // With the second list: what is compiled of them.
  for (const which of [[], ['--others', '--ignored', '--exclude-standard', 'control', 'daemon']]) {
    const listed = execFileSync('git', ['ls-files', '-z', ...which], { cwd: checkout, encoding: 'utf8' })
    for (const name of listed.split('\0').filter(Boolean)) cpSync(join(checkout, name), join(inside, name))
  }
  hardLinked(join(checkout, 'node_modules'), join(inside, 'node_modules'))
  for (const name of ['node', 'images', 'apt-optional', 'packages'])
    hardLinked(join(runtime, name), join(inside, '.runtime', name))
  const bundle = basename(realpathSync(join(runtime, 'bundle')))
  hardLinked(join(runtime, 'bundles', bundle), join(inside, '.runtime/bundles', bundle))
  symlinkSync(`bundles/${bundle}`, join(inside, '.runtime/bundle'))
  symlinkSync(bundle, join(inside, '.runtime/bundles/current'))
}

export interface Disk {
  readonly image: string
  readonly kernel: string
  readonly initrd: string
  readonly spare: string
}

/** Makes the image in `dir`, which is on the file system of the checkout: it is put together of links. */
export const makeDisk = (dir: string): Disk => {
  const root = mkdtempSync(join(dir, 'root-'))
  const image = join(dir, 'disk.ext4')
  try {
    execFileSync('cp', ['-al', `${debianRoot(packages.split(' '))}/.`, root])
    putCheckout(root)
    writeFileSync(join(root, 'usr/local/sbin/take-orders'), agent, { mode: 0o755 })
    writeFileSync(join(root, 'etc/systemd/system/take-orders.service'), unit)
    const wants = join(root, 'etc/systemd/system/multi-user.target.wants')
    mkdirSync(wants, { recursive: true })
    symlinkSync('../take-orders.service', join(wants, 'take-orders.service'))
    for (const [name, link] of [
      ['kernel', 'vmlinuz'],
      ['initrd', 'initrd.img'],
    ] as const)
      copyFileSync(realpathSync(join(root, link)), join(dir, name))
    // An inode for 8 KiB: trees of npm are small files.
    execFileSync('mke2fs', ['-q', '-t', 'ext4', '-i', '8192', '-d', root, image, '8G'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const spare = join(dir, 'spare')
    writeFileSync(spare, '')
    truncateSync(spare, 6 * 1024 ** 3)
    return { image, kernel: join(dir, 'kernel'), initrd: join(dir, 'initrd'), spare }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}
