/** The OCI runtime spec of a machine (https://github.com/opencontainers/runtime-spec, version 1.0.2). */
import { join } from 'node:path'
import { guardEnvironment, ownEnvironment } from '../../../../shared/guarded-env.ts'
import type { MachineSpec } from '../../driver.ts'
import { sharesOf } from '../cgroup/limits.ts'
import { stageDir } from '../names.ts'
import type { Privileges } from '../privileges.ts'
import { idsPerMachine } from '../users/ranges.ts'
import { daemonCapabilities } from './capabilities.ts'
import { maskedPaths, mountsOf, readonlyPathsOf } from './mounts.ts'
import { seccompProfile } from './seccomp.ts'
import { userNamespace, usersOf } from './users.ts'

export interface ConfigInput {
  readonly spec: MachineSpec
  /** Other bundles are shown, beside the machine's own. */
  readonly releases: boolean
  readonly command: readonly string[]
  /** Set by the driver for the daemon; wins over the spec's. */
  readonly env: Readonly<Record<string, string>>
  /** The daemon gets the workload's environment on its standard input: then it stands in no file. */
  readonly boots: boolean
  readonly netns: string
  /** The id of the box that root inside is; undefined where the machine has no users of its own. */
  readonly firstId: number | undefined
  readonly cgroup: string
  readonly pidsLimit: number
  readonly limitsSwap: boolean
  readonly privileges: Privileges
  /** Asynchronous I/O may be set up. */
  readonly aio: boolean
  /** Trees of control groups that this runtime shows anew, `readonlyPathsOf`. */
  readonly treesAnew: readonly string[]
  readonly ownTmp: boolean
  readonly arch: string
}

const tunnelDevice = { path: '/dev/net/tun', type: 'c', major: 10, minor: 200, fileMode: 0o666, uid: 0, gid: 0 }

const resources = ({ spec, pidsLimit, limitsSwap }: ConfigInput): object => {
  const memory = Math.round(spec.memoryMb * 1024 * 1024)
  return {
    devices: [
      { allow: false, access: 'rwm' },
      // /dev/net/tun: a tunnel of the daemon's; without NET_ADMIN it opens nothing.
      { allow: true, type: 'c', major: 10, minor: 200, access: 'rwm' },
    ],
    memory: { limit: memory, ...(limitsSwap ? { swap: memory } : {}) },
    pids: { limit: pidsLimit },
    // Quota and processors are set when the machine is up, so that a small machine does not start slowly.
    cpu: { shares: sharesOf(spec.cpus) },
  }
}

const linux = (input: ConfigInput): object => ({
  cgroupsPath: `/${input.cgroup}`,
  ...(input.firstId === undefined ? {} : usersOf(input.firstId)),
  namespaces: [
    ...(input.firstId === undefined ? [] : [userNamespace]),
    { type: 'pid' },
    { type: 'ipc' },
    { type: 'uts' },
    { type: 'mount' },
    { type: 'cgroup' },
    { type: 'network', path: `/run/netns/${input.netns}` },
  ],
  resources: resources(input),
  // In a user namespace nodes cannot be made: there it is one of the stage's, like those that the runtime adds itself.
  devices: input.firstId === undefined ? [tunnelDevice] : [],
  seccomp: seccompProfile(input.arch, { aio: input.aio, nests: input.spec.nests ?? false }),
  sysctl: {
    'net.ipv4.ip_unprivileged_port_start': '0',
    'net.ipv4.ping_group_range': `0 ${input.firstId === undefined ? 2_147_483_647 : idsPerMachine - 1}`,
    // Lets a full tunnel's own packets out by mark.
    'net.ipv4.conf.all.src_valid_mark': '1',
  },
  maskedPaths,
  readonlyPaths: readonlyPathsOf(input.treesAnew),
})

const environmentOf = ({ spec, env, boots }: ConfigInput): string[] => {
  const given = boots
    ? { ...ownEnvironment(spec.env), HUTCH_BOOT: 'stdin' }
    : guardEnvironment({ ...spec.env, WORKDIR: spec.workdir })
  return Object.entries({ ...given, ...env }).map(([name, value]) => `${name}=${value}`)
}

const limits = ({ raisesLimits, openFiles }: Privileges): object[] => {
  const mostFiles = raisesLimits ? 1_048_576 : Math.min(openFiles, 1_048_576)
  return [
    { type: 'RLIMIT_NOFILE', soft: Math.min(65_536, mostFiles), hard: mostFiles },
    // A crash inside must not start the host's core handler with a tenant's data.
    { type: 'RLIMIT_CORE', soft: 0, hard: 0 },
  ]
}

/** Who may not raise limits may not set those of other users either, which a user namespace's are: they inherit these. */
export const inheritedFiles = ({ raisesLimits, openFiles }: Privileges, firstId: number | undefined) =>
  raisesLimits || firstId === undefined ? undefined : Math.min(openFiles, 65_536)

export const runtimeConfig = (input: ConfigInput): object => {
  const { spec, command, privileges, firstId, releases } = input
  const { raisesLimits } = privileges
  const capabilities = [...daemonCapabilities]
  return {
    ociVersion: '1.0.2',
    hostname: spec.hostname,
    root: { path: join(stageDir, 'root'), readonly: false },
    mounts: mountsOf({
      memoryMb: spec.memoryMb,
      releases,
      ownUsers: firstId !== undefined,
      ownTmp: input.ownTmp,
      volumes: spec.volumes ?? [],
      nests: spec.nests ?? false,
    }),
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: command,
      env: environmentOf(input),
      // The working directory of the API may not exist yet; the daemon goes there by itself.
      cwd: '/',
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      rlimits: inheritedFiles(privileges, firstId) === undefined ? limits(privileges) : [],
      // Never the first to be killed for memory; the daemon raises the score of what it starts.
      ...(raisesLimits ? { oomScoreAdj: -900 } : {}),
      // sudo and su of ordinary images need it; the capability bound above holds for them as well.
      noNewPrivileges: false,
    },
    linux: linux(input),
  }
}
