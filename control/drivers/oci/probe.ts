/** Whether this box can run machines with a runtime, tried part by part. */
import type { Clock } from '../../../shared/clock.ts'
import { rebuild } from '../../../shared/installation.ts'
import type { Probe } from '../driver.ts'
import type { DriverConfig } from '../module.ts'
import { readBundle } from './bundle.ts'
import { connectionBound, datagramBound, datagramTable, sharedTables } from './probe/bounds.ts'
import { commands, disk, inotify, kvm, root, size, swap } from './probe/box.ts'
import { carryOut, withScratch, type Check, type Result } from './probe/check.ts'
import { diskQuota, fileQuota } from './probe/disk.ts'
import { cgroups, firewall, forwarding, freezer, network, outboundPolicies, overlay } from './probe/kernel.ts'
import { quickMoves } from './probe/moves.ts'
import { ownNetworkStack, ownUsers, startsContainer } from './probe/runtime.ts'
import { ownView } from './probe/view.ts'
import { sharesBlocks } from './snapshots/copy.ts'

export interface ProbeConfig {
  readonly dataDir: string
  readonly runtime: string
  readonly bundleDir: string
  /** Where the bundle comes from at the first start, when it is not there yet. */
  readonly bundleLater?: string | undefined
  readonly userNamespaces?: DriverConfig['userNamespaces']
  readonly diskQuota?: DriverConfig['diskQuota']
}

/** What a box need not have. */
interface Optional {
  readonly users: readonly Check[]
  readonly disks: readonly Check[]
}

/** What the probe found out that decides who is protected from whom. */
interface Walls {
  readonly runtime: string
  readonly ownUsers: boolean
  readonly ownDisks: boolean
}

const protects = ({ runtime, ownUsers, ownDisks }: Walls): string[] => [
  'other sandboxes: own processes, files, network, IPC; no packet passes between two of them',
  "the host's files, processes, ports and addresses; metadata services; private networks",
  "the box's memory, processors and process table: each sandbox has limits",
  'forged source addresses',
  ...(runtime === 'runsc' ? ['most holes of the host kernel: system calls are served by a kernel in user space'] : []),
  ...(ownDisks ? ['the disk: each sandbox has a file system of its own, and no more is promised than there is'] : []),
  ...(ownUsers
    ? ['users of the box: root of a sandbox is nobody outside, and what the kernel counts by user is its own']
    : []),
]

const doesNotProtect = ({ runtime, ownUsers, ownDisks }: Walls): string[] => [
  ...(runtime === 'runsc'
    ? [
        'holes in gVisor itself, and side channels of the processor',
        'the daemon of a sandbox from root of that sandbox, who can end or stop it, and so the sandbox',
        'what the daemon of a sandbox remembers from root of that sandbox, who can make it forget, or know what once was true',
      ]
    : [
        'holes in the host kernel: it is shared; use HUTCH_RUNTIME=runsc for strangers, or a machine of their own',
        "the kernel's memory for locks of files: it charges nobody for them",
        'the sizes of the box: the system call sysinfo tells them (/proc shows what the sandbox has)',
      ]),
  ...(runtime === 'runsc' || ownUsers
    ? []
    : ['what the kernel counts by user (signals, timers, pipes, message queues): one sandbox can take all of it']),
  ...(ownDisks
    ? ['the disk from other programs of the box: what sandboxes are promised is not taken in advance']
    : ['the disk: sandboxes share the data directory without quota, one can fill it']),
  'the public internet from what runs inside: a sandbox without an outbound policy reaches all of it',
]

const bundleCheck = ({ bundleDir, bundleLater }: ProbeConfig): Check => ({
  required: true,
  title: 'the runtime bundle',
  next: `${rebuild}, or set HUTCH_BUNDLE_DIR`,
  run: async () => bundleLater ?? ((await readBundle(bundleDir)).command[0] as string),
})

const usersCheck = ({ runtime, bundleDir, userNamespaces }: ProbeConfig): Check[] =>
  runtime === 'runsc' || userNamespaces === 'off'
    ? []
    : [ownUsers({ runtime, bundleDir, required: userNamespaces === 'on' })]

/** Not whether, but how. */
const snapshots: Check = {
  required: false,
  title: 'snapshots',
  next: 'look at the error',
  run: async ({ scratch }) =>
    (await sharesBlocks(scratch))
      ? 'files share their blocks'
      : 'files are copied, for which a sandbox stands still; a data directory on XFS or btrfs shares their blocks',
}

const disksCheck = ({ diskQuota: mode, runtime, userNamespaces }: ProbeConfig): Check[] => {
  if (mode === 'off') return []
  const check = runtime === 'runsc' || userNamespaces === 'off' ? fileQuota : diskQuota
  return [{ ...check, required: mode === 'on' }]
}

const checks = (config: ProbeConfig, { users, disks }: Optional): Check[] => [
  root,
  commands,
  size,
  swap,
  cgroups,
  freezer,
  quickMoves(),
  firewall,
  outboundPolicies,
  datagramTable(),
  connectionBound,
  datagramBound,
  network,
  forwarding,
  overlay,
  disk,
  ...disks,
  snapshots,
  inotify,
  sharedTables,
  startsContainer(config.runtime),
  ...(config.runtime === 'runsc' ? [ownNetworkStack] : [ownView(config.runtime)]),
  ...users,
  bundleCheck(config),
  kvm,
]

/** Tries everything, one after the other, and leaves nothing behind. Usable when every required part works. */
export const probeOci = async (config: ProbeConfig, deps: { clock: Clock }, signal?: AbortSignal): Promise<Probe> => {
  const optional = { users: usersCheck(config), disks: disksCheck(config) }
  const results = await withScratch(config.dataDir, deps.clock, signal, async context => {
    const found: (Result & { readonly check: Check })[] = []
    for (const check of checks(config, optional)) {
      signal?.throwIfAborted()
      found.push({ ...(await carryOut(check, context)), check })
    }
    return found
  })
  const works = (wanted: readonly Check[]) => results.some(({ ok, check }) => ok && wanted.includes(check))
  const walls = { runtime: config.runtime, ownUsers: works(optional.users), ownDisks: works(optional.disks) }
  return {
    usable: results.every(({ ok, required }) => ok || !required),
    findings: results.map(({ ok, what, next }) => ({ ok, what, ...(next ? { next } : {}) })),
    protects: protects(walls),
    doesNotProtect: doesNotProtect(walls),
  }
}
