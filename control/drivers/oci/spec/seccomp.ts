/** The system call filter of a machine, as OCI runtime spec `linux.seccomp`: an allow list, EPERM for the rest. */
import { allowedCalls, archCalls } from './seccomp-calls.ts'

/**
 * The native architecture only: the 32-bit and x32 entries of the kernel are attack surface that hardly any image
 * needs, and each architecture more costs the runtime 10 ms of every start. Programs for others are ended by SIGSYS.
 */
const architectures: Readonly<Record<string, readonly string[]>> = {
  x64: ['SCMP_ARCH_X86_64'],
  arm64: ['SCMP_ARCH_AARCH64'],
}

const [eperm, einval, enosys, eprotonosupport] = [1, 22, 38, 93]
/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}: no new namespaces, so no capabilities by way of a user namespace. */
const newNamespaces = 0x7e02_0000
/** personality(2): Linux, 32-bit, the two with UNAME26, and the query. */
const personalities = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff]
/**
 * AF_UNIX, AF_INET, AF_INET6. Asking for any other makes the kernel load its module, and most of those are
 * where holes have been found; AF_VSOCK reaches the hypervisor beside every network fence, and the frames of AF_PACKET
 * pass the firewall of the machine itself, which is what keeps a tunnel's traffic in the tunnel.
 */
const families = [1, 2, 10]
const [unix, netlink] = [1, 16]
/** NETLINK_{ROUTE,SOCK_DIAG,NETFILTER,KOBJECT_UEVENT,GENERIC}: what programs for networks and devices ask for. */
const netlinks = [0, 4, 12, 15, 16]
/** NETLINK_AUDIT is the log of the box. Refused as if the kernel had none, which programs that log users go on after. */
const audit = 9

/**
 * F_OFD_{GETLK,SETLK,SETLKW}, 36 to 38 of fcntl, are the only commands with this bit (asm-generic/fcntl.h, linux/fcntl.h). Their locks
 * stay with a file that was sent to a socket and closed, where nobody can tell whose they are, and the kernel bounds them by
 * nothing. Refused as by a kernel before 3.15, which programs that have use for them go on after with others (QEMU, etcd).
 * The kernel looks at the lower half of the command alone, and so does a masked comparison.
 */
const openFileLocks = 0x20

const commandIn = (bits: number, action: object): object => ({
  names: ['fcntl'],
  ...action,
  args: [{ index: 1, value: openFileLocks, valueTwo: bits, op: 'SCMP_CMP_MASKED_EQ' }],
})

/** The arguments of `socket`: a family, and a protocol where it matters. */
const socketArgs = (family: number, protocol?: number) => [
  { index: 0, value: family, op: 'SCMP_CMP_EQ' },
  ...(protocol === undefined ? [] : [{ index: 2, value: protocol, op: 'SCMP_CMP_EQ' }]),
]

/** What takes a capability in the user namespace that a program makes for itself, and no more than that. */
const nestingCalls = ['mount', 'umount2', 'unshare', 'setns', 'pivot_root', 'sethostname', 'setdomainname']

export interface SeccompOptions {
  /** Machines may set up contexts for asynchronous I/O. */
  readonly aio: boolean
  /** Programs may make namespaces of their own. */
  readonly nests: boolean
}

export const seccompProfile = (arch: string, { aio, nests }: SeccompOptions): object => ({
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: eperm,
  architectures: architectures[arch] ?? [],
  syscalls: [
    {
      names: [...allowedCalls, ...(archCalls[arch] ?? []), ...(nests ? nestingCalls : [])],
      action: 'SCMP_ACT_ALLOW',
    },
    aio
      ? { names: ['io_setup'], action: 'SCMP_ACT_ALLOW' }
      : { names: ['io_setup'], action: 'SCMP_ACT_ERRNO', errnoRet: enosys },
    ...personalities.map(value => ({
      names: ['personality'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
    })),
    // Rules of one call are alternatives.
    ...[...families.map(family => socketArgs(family)), ...netlinks.map(protocol => socketArgs(netlink, protocol))].map(
      args => ({ names: ['socket'], action: 'SCMP_ACT_ALLOW', args }),
    ),
    commandIn(0, { action: 'SCMP_ACT_ALLOW' }),
    commandIn(openFileLocks, { action: 'SCMP_ACT_ERRNO', errnoRet: einval }),
    { names: ['socket'], action: 'SCMP_ACT_ERRNO', errnoRet: eprotonosupport, args: socketArgs(netlink, audit) },
    { names: ['socketpair'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: unix, op: 'SCMP_CMP_EQ' }] },
    {
      names: ['clone'],
      action: 'SCMP_ACT_ALLOW',
      ...(nests ? {} : { args: [{ index: 0, value: newNamespaces, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }] }),
    },
    // Its flags are in memory where no filter sees them; ENOSYS makes libraries fall back to clone.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: enosys },
  ],
})
