/** What a runtime can do here. */
import { existsSync } from 'node:fs'
import type { Stack } from '../runtime.ts'
import { probeIds } from '../users/ranges.ts'
import { carryOut, type Check, type ProbeContext } from './check.ts'
import { shared, tryContainer } from './container.ts'

/** `name`: runc, runsc or crun. */
export const startsContainer = (name: string): Check => ({
  required: true,
  title: `${name} starts a container`,
  next: `install or repair ${name} (on Debian: apt-get install ${name}), or set HUTCH_RUNTIME to another`,
  run: async context => `${await tryContainer({ ...shared, runtime: name }, context)} ms`,
})

interface OwnUsers {
  readonly runtime: string
  /** The bundle that machines are to be shown; one that is not there yet is not looked at. */
  readonly bundleDir: string
  /** Machines are refused without. */
  readonly required: boolean
}

/** Not for runsc, whose users are in its own kernel. */
export const ownUsers = ({ runtime, bundleDir, required }: OwnUsers): Check => ({
  required,
  title: 'users of their own for sandboxes (user namespaces, id-mapped mounts)',
  next:
    'needs Linux 5.19, runc 1.1 and a file system like ext4 or xfs; until then root of every sandbox is user 0 of the box, ' +
    'and what the kernel counts by user is shared by all',
  run: async context => {
    const trial = { ...shared, runtime, firstId: probeIds, bundleDir: existsSync(bundleDir) ? bundleDir : undefined }
    return `${await tryContainer(trial, context)} ms`
  },
})

/** Only for runsc. */
export const ownNetworkStack: Check = {
  required: false,
  title: "gVisor's own network stack",
  next: 'install a newer runsc; until then sockets of sandboxes are served by the host kernel, in their own namespace',
  run: async context => `${await tryContainer({ ...shared, runtime: 'runsc', stack: 'own' }, context)} ms`,
}

/** The strongest stack that works with this runtime on this kernel; old versions of runsc misread new kernels. */
export const chooseStack = async (name: string, context: ProbeContext): Promise<Stack> => {
  if (name !== 'runsc') return 'kernel'
  return (await carryOut(ownNetworkStack, context)).ok ? 'own' : 'kernel'
}
