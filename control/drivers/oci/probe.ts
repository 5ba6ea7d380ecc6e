/** Whether this box can run machines with a runtime, tried part by part. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { Probe } from '../driver.ts'
import { readBundle } from './bundle.ts'
import { commands, disk, inotify, kvm, root, size } from './probe/box.ts'
import { carryOut, type Check, type ProbeContext, type Result } from './probe/check.ts'
import { cgroups, firewall, forwarding, freezer, network, overlay } from './probe/kernel.ts'
import { startsContainer } from './probe/runtime.ts'

export interface ProbeConfig {
  readonly dataDir: string
  readonly runtime: string
  readonly bundleDir: string
}

const protects = (runtime: string): string[] => [
  'other sandboxes: own processes, files, network, IPC; no packet passes between two of them',
  "the host's files, processes, ports and addresses; metadata services; private networks",
  "the box's memory, processors and process table: each sandbox has limits",
  'forged source addresses',
  ...(runtime === 'runsc' ? ['most holes of the host kernel: system calls are served by a kernel in user space'] : []),
]

const doesNotProtect = (runtime: string): string[] => [
  ...(runtime === 'runsc'
    ? ['holes in gVisor itself, and side channels of the processor']
    : ['holes in the host kernel: it is shared; use HUTCH_RUNTIME=runsc for strangers, or a machine of their own']),
  'the disk: sandboxes share the data directory without quota, one can fill it',
  'the views of /proc/meminfo, /proc/stat, /proc/uptime and /proc/loadavg: they show the box (nproc is right)',
  'the public internet from what runs inside, unless an egress policy is set',
]

const nearest = (path: string): string => (existsSync(path) ? path : nearest(dirname(path)))

const bundleCheck = (bundleDir: string): Check => ({
  required: true,
  title: 'the runtime bundle',
  next: 'run make',
  run: async () => (await readBundle(bundleDir)).command[0] as string,
})

const checks = ({ runtime, bundleDir }: ProbeConfig): Check[] => [
  root,
  commands,
  size,
  cgroups,
  freezer,
  firewall,
  network,
  forwarding,
  overlay,
  disk,
  inotify,
  startsContainer(runtime),
  bundleCheck(bundleDir),
  kvm,
]

/** Tries everything, one after the other, and leaves nothing behind. Usable when every required part works. */
export const probeOci = async (config: ProbeConfig, deps: { clock: Clock }, signal?: AbortSignal): Promise<Probe> => {
  const word = randomBytes(4).toString('hex')
  const scratch = await mkdtemp(join(nearest(config.dataDir), '.probe-'))
  const context: ProbeContext = { word, scratch, clock: deps.clock, signal }
  const results: Result[] = []
  try {
    for (const check of checks(config)) {
      signal?.throwIfAborted()
      results.push(await carryOut(check, context))
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return {
    usable: results.every(({ ok, required }) => ok || !required),
    findings: results.map(({ ok, what, next }) => ({ ok, what, ...(next ? { next } : {}) })),
    protects: protects(config.runtime),
    doesNotProtect: doesNotProtect(config.runtime),
  }
}
