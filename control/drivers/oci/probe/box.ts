/** Probes of the box: tools, disk, limits, processors. */
import { hasSwap } from '../cgroup/reclaim.ts'
import { readFile, statfs } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { locate, run } from '../command.ts'
import type { Check } from './check.ts'

const tools = ['ip', 'iptables-restore', 'iptables-save', 'unshare', 'mount', 'rm', 'cp'] as const

export const root: Check = {
  required: true,
  title: 'runs as root',
  next: 'start Hutch as root (or with sudo): namespaces, mounts and firewall rules need it',
  async run() {
    if (process.getuid?.() !== 0) throw new Error(`user id is ${process.getuid?.()}`)
    return ''
  },
}

export const commands: Check = {
  required: true,
  title: 'tools',
  next: 'apt-get install iproute2 iptables util-linux coreutils',
  async run() {
    const missing = tools.filter(name => !locate(name))
    if (missing.length > 0) throw new Error(`missing ${missing.join(', ')}`)
    return tools.join(', ')
  },
}

const gib = 1024 ** 3

export const disk: Check = {
  required: false,
  title: 'free disk for the data directory',
  next: 'free some space or move HUTCH_DATA_DIR; 5 GiB is the least that makes sense',
  async run({ scratch }) {
    const { bavail, bsize, ffree } = await statfs(scratch)
    const free = (bavail * bsize) / gib
    if (free < 5) throw new Error(`${free.toFixed(1)} GiB`)
    return `${free.toFixed(0)} GiB, ${ffree} inodes`
  },
}

export const inotify: Check = {
  required: false,
  title: 'inotify limits',
  next: 'sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=1048576 (all sandboxes share them)',
  async run() {
    const read = async (name: string) => Number(await readFile(`/proc/sys/fs/inotify/${name}`, 'utf8'))
    const [instances, watches] = [await read('max_user_instances'), await read('max_user_watches')]
    const seen = `${instances} instances, ${watches} watches`
    if (instances < 1_024 || watches < 65_536) throw new Error(`${seen} for all sandboxes together`)
    return seen
  },
}

export const swap: Check = {
  required: false,
  title: 'swap for the memory of sleeping sandboxes',
  next: 'compressed memory: modprobe zram && zramctl --find --size 8G --algorithm lz4, then mkswap and swapon -p 100 on the device it names; or a file: fallocate -l 8G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile',
  async run() {
    if (!(await hasSwap())) throw new Error('the box has none: what sleeps stays in memory')
    return 'there is some'
  },
}

export const size: Check = {
  required: false,
  title: 'the box',
  next: '',
  run: async () => `${availableParallelism()} processors, ${(totalmem() / gib).toFixed(0)} GiB memory`,
}

/** KVM_CREATE_VM and KVM_CREATE_VCPU (linux/kvm.h); a device node alone says nothing in a nested machine. */
const kvmScript = `
open(my $kvm, "+<", "/dev/kvm") or die "open: $!\\n";
my $vm = ioctl($kvm, 0xAE01, 0) or die "KVM_CREATE_VM: $!\\n";
open(my $machine, "+<&=", int($vm)) or die "vm: $!\\n";
my $cpu = ioctl($machine, 0xAE41, 0) or die "KVM_CREATE_VCPU: $!\\n";
print "ok";
`

export const kvm: Check = {
  required: false,
  title: 'hardware virtualisation (/dev/kvm)',
  next: 'turn on (nested) virtualisation for this machine; only a microVM driver would need it',
  async run({ signal }) {
    const perl = locate('perl')
    if (!perl) throw new Error('not tried: there is no perl to ask the kernel with')
    await run({ step: 'kvm', file: perl, args: ['-e', kvmScript], signal, timeoutMs: 10_000 })
    return 'makes a machine with a processor'
  },
}
