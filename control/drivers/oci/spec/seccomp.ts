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
/** AF_VSOCK reaches the hypervisor beside every network fence; AF_ALG has been a way into the kernel. */
const [alg, vsock] = [38, 40]

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
    // Rules of one call are alternatives: below, between, above the two families leaves exactly them out.
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: alg, op: 'SCMP_CMP_LT' }] },
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: alg + 1, op: 'SCMP_CMP_EQ' }] },
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: vsock, op: 'SCMP_CMP_GT' }] },
    {
      names: ['clone'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value: newNamespaces, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
    },
    // Its flags are in memory where no filter sees them; ENOSYS makes libraries fall back to clone.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: enosys },
  ],
})
