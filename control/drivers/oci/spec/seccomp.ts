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

const [eperm, enosys] = [1, 38]
/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}: no new namespaces, so no capabilities by way of a user namespace. */
const newNamespaces = 0x7e02_0000
/** personality(2): Linux, 32-bit, the two with UNAME26, and the query. */
const personalities = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff]
/**
 * AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Asking for any other makes the kernel load its module, and most of those are
 * where holes have been found; AF_VSOCK reaches the hypervisor beside every network fence, and the frames of AF_PACKET
 * pass the firewall of the machine itself, which is what keeps a tunnel's traffic in the tunnel.
 */
const families = [1, 2, 10, 16]
const unix = 1

export const seccompProfile = (arch: string): object => ({
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: eperm,
  architectures: architectures[arch] ?? [],
  syscalls: [
    { names: [...allowedCalls, ...(archCalls[arch] ?? [])], action: 'SCMP_ACT_ALLOW' },
    ...personalities.map(value => ({
      names: ['personality'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
    })),
    // Rules of one call are alternatives.
    ...families.map(value => ({
      names: ['socket'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
    })),
    { names: ['socketpair'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: unix, op: 'SCMP_CMP_EQ' }] },
    {
      names: ['clone'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value: newNamespaces, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
    },
    // Its flags are in memory where no filter sees them; ENOSYS makes libraries fall back to clone.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: enosys },
  ],
})
