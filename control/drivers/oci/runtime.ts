/** The OCI runtimes and what each needs to be told. */
import { join } from 'node:path'
import type { Runtime } from './context.ts'
import { isBelowGroups, type Hierarchy } from './cgroup/hierarchy.ts'
import { locate, tool } from './command.ts'
import type { Names } from './names.ts'

export const runtimeNames = ['runc', 'runsc', 'crun'] as const

/** Those that are installed. */
export const presentRuntimes = (): string[] => runtimeNames.filter(name => locate(name) !== undefined)

/**
 * Whose network stack a machine uses: `own` is gVisor's in user space, `kernel` that of the machine's namespace.
 * The runtimes that share the kernel have no choice.
 */
export type Stack = 'own' | 'kernel'

/** gVisor intercepts system calls with ptrace: it needs no KVM and works in any virtual machine. */
const gvisor = (stack: Stack): string[] => [
  '--platform=ptrace',
  `--network=${stack === 'own' ? 'sandbox' : 'host'}`,
  '--overlay=false',
  '--file-access=exclusive',
]

/** Whether a first process gets open descriptors of the host's; gVisor has none of a directory. */
export const handsOnDescriptors = ({ name }: Pick<Runtime, 'name'>): boolean => name !== 'runsc'

/**
 * The tree of control groups that a runtime is not shown: crun refuses a box that has one of version 2 beside those of version 1
 * ("cgroups in hybrid mode not supported"), and does without it.
 */
export const hiddenFrom = (
  { name }: Pick<Runtime, 'name'>,
  { beside }: Pick<Hierarchy, 'beside'>,
): string | undefined => (name === 'crun' ? beside : undefined)

/**
 * Where a machine has trees of control groups that become writable when the runtime makes what they lie in read-only: crun 1.8 binds
 * that with all that is below, and the bindings lose what was said of each (`do_masked_or_readonly_path` in its `linux.c`).
 */
export const treesAnew = (
  { name }: Pick<Runtime, 'name'>,
  { version, mounts, beside }: Pick<Hierarchy, 'version' | 'mounts' | 'beside'>,
): string[] =>
  name === 'crun' && version === 1 ? mounts.filter(mount => isBelowGroups(mount) && mount !== beside) : []

/** Throws `driver_failed` naming what to install when it is not on the box. */
export const runtimeOf = (name: string, names: Pick<Names, 'runDir'>, stack: Stack): Runtime => {
  const stateDir = join(names.runDir, name)
  return { name, file: tool(name), stateDir, args: ['--root', stateDir, ...(name === 'runsc' ? gvisor(stack) : [])] }
}
