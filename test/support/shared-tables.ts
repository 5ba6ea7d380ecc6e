/**
 * What the kernel has for all, who owns it, what one sandbox may have of it and what keeps that: the table of
 * docs/walls.md, and the attacks of test/e2e/shared-tables.test.ts.
 */
import { readFileSync } from 'node:fs'
import { socketBytes } from '../../control/drivers/oci/cgroup/limits.ts'
import { sharedLimits } from '../../control/drivers/oci/shared-limits.ts'
import { terminals } from '../../control/drivers/oci/spec/mounts.ts'

export interface Attack {
  /** A kind of test/programs/tables.py. */
  readonly kind: string
  /** The most that is tried by the attacker, and by who wants a usual amount. */
  readonly cap: number
  readonly usual: number
  /** What the attacker may get at most, where there is a bound that he can reach in a test. */
  readonly bound?: number
  /** Of its network's own table: who has taken all of it gets no more of it. */
  readonly own?: true
  /** How much of it the box has, where all are in one table. */
  readonly inUse?: () => number
}

export interface SharedTable {
  readonly what: string
  /** `box`, `user`, or the kind of namespace or group that it is counted for. */
  readonly owner: string
  readonly bound: string
  readonly keptBy: string
  readonly attacks: readonly Attack[]
  /** Where it is attacked otherwise: a file of the tests, and a text in it. */
  readonly elsewhere?: readonly [file: string, text: string]
}

const source = (path: string) => readFileSync(new URL(`../../control/drivers/oci/${path}`, import.meta.url), 'utf8')
const numberIn = (path: string, pattern: RegExp): number =>
  Number((pattern.exec(source(path))?.[1] ?? '').replaceAll('_', ''))

export const pending = numberIn('native/hold-namespaces.c', /#define PENDING (\d+)/)
/** Record locks. */
export const locks = numberIn('locks/watch.ts', /mostLocks = ([\d_]+)/)
const connections = numberIn('net/connections.ts', /most = ([\d_]+)/)
const limit = (name: string): string => String(sharedLimits[name])
/** Memory of the sandboxes that are attacked. */
export const attackedMb = 1_024
const sockets = socketBytes(attackedMb) / 2 ** 20

/** Of all network namespaces; the first line has names, the others have it first. */
const neighboursInUse = (): number =>
  Number.parseInt(readFileSync('/proc/net/stat/arp_cache', 'latin1').split('\n')[1] ?? '', 16)

const memory = "the sandbox's memory"
const charged = 'charged to its memory'
const refused = 'the system call filter'

export const sharedTables: readonly SharedTable[] = [
  {
    what: 'epoll watches',
    owner: 'user',
    bound: `\`fs.epoll.max_user_watches\` for each of its users; ${memory}`,
    keptBy: `users of its own; ${charged}`,
    attacks: [{ kind: 'epoll', cap: 200_000, usual: 20_000 }],
  },
  {
    what: 'pseudo-terminals',
    owner: 'box',
    bound: `${terminals}`,
    keptBy: `\`max=\` of its devpts; \`kernel.pty.max\` is raised to ${limit('kernel/pty/max')}`,
    attacks: [{ kind: 'ptys', cap: 5_000, usual: 500, bound: terminals }],
  },
  {
    what: 'asynchronous I/O (`io_setup`)',
    owner: 'box',
    bound: memory,
    keptBy: `${charged}; \`fs.aio-max-nr\` is raised to ${limit('fs/aio-max-nr')}, and the call refused where it cannot be`,
    attacks: [{ kind: 'aio', cap: 80_000, usual: 4_096 }],
  },
  {
    what: 'queued signals, timers (`timer_create`)',
    owner: 'user, user namespace',
    bound: `${pending} together`,
    keptBy: 'RLIMIT_SIGPENDING of whom its user namespace was made for',
    attacks: [
      { kind: 'signals', cap: 120_000, usual: 2_000, bound: pending },
      { kind: 'timers', cap: 120_000, usual: 2_000, bound: pending },
    ],
  },
  {
    what: 'POSIX message queues',
    owner: 'user, user namespace, IPC namespace',
    bound: "256, and the server's RLIMIT_MSGQUEUE of bytes (819200 unless raised)",
    keptBy: 'an IPC namespace and a user namespace of its own',
    attacks: [{ kind: 'message_queues', cap: 400, usual: 30, bound: 256 }],
  },
  {
    what: 'System V queues, semaphores, shared memory',
    owner: 'IPC namespace',
    bound: `32000 queues, 32000 sets of semaphores, 4096 segments; ${memory}`,
    keptBy: `an IPC namespace of its own; ${charged}`,
    attacks: [
      { kind: 'semaphores', cap: 100_000, usual: 2_500 },
      { kind: 'shared_memory', cap: 4_500, usual: 200, bound: 4_096 },
    ],
  },
  {
    what: 'pages of pipes',
    owner: 'user',
    bound: `\`fs.pipe-user-pages-soft\` for each of its users, small pipes beyond; ${memory}`,
    keptBy: `users of its own; ${charged}`,
    attacks: [
      { kind: 'pipe_pages', cap: 20_000, usual: 2_000 },
      { kind: 'pipes', cap: 300, usual: 100 },
    ],
  },
  {
    what: 'inotify instances and watches',
    owner: 'user, user namespace',
    bound: `${limit('fs/inotify/max_user_instances')} and ${limit('fs/inotify/max_user_watches')}; ${memory}`,
    keptBy: `a user namespace made for it; ${charged}`,
    attacks: [{ kind: 'inotify', cap: 5_000, usual: 300 }],
  },
  {
    what: 'descriptors sent and not received',
    owner: 'user',
    bound: 'RLIMIT_NOFILE for each of its users',
    keptBy: 'users of its own',
    attacks: [{ kind: 'files_in_flight', cap: 60_000, usual: 2_000 }],
  },
  {
    what: 'open files',
    owner: 'box',
    bound: `RLIMIT_NOFILE for each process; ${memory}`,
    keptBy: `${charged}; \`fs.file-max\` is raised to the most there is`,
    attacks: [{ kind: 'files', cap: 50_000, usual: 2_000 }],
  },
  {
    what: 'processes and threads',
    owner: 'control group, box',
    bound: '4096 (`HUTCH_PIDS_LIMIT`)',
    keptBy: `its control group; \`kernel.pid_max\` and \`threads-max\` are raised to ${limit('kernel/pid_max')}`,
    attacks: [{ kind: 'processes', cap: 300, usual: 50 }],
  },
  {
    what: 'buffers of sockets',
    owner: 'box',
    bound: 'an eighth of its memory, 16 to 256 MiB (version 1 of control groups); its memory (version 2)',
    keptBy: '`memory.kmem.tcp.limit_in_bytes`; version 2 charges them',
    attacks: [
      { kind: 'datagrams', cap: 400, usual: 16, bound: sockets },
      { kind: 'streams', cap: 400, usual: 16, bound: sockets },
    ],
  },
  {
    what: 'connections to the outside',
    owner: 'box',
    bound: `${connections}`,
    keptBy: "a rule of the host's firewall",
    attacks: [],
    elsewhere: ['test/control/drivers/oci/outside.test.ts', 'one machine cannot use up the connections of the box'],
  },
  {
    what: "its own network's connections, routes, ports, neighbours",
    owner: 'network namespace',
    bound: '`nf_conntrack_max` connections where a tunnel is up; tenants change no routes or addresses',
    keptBy: `tenants have no CAP_NET_ADMIN; \`gc_thresh3\` of neighbours is raised to ${limit('net/ipv4/neigh/default/gc_thresh3')}; of those that a tenant can name itself, which are of multicast, the kernel throws out any where another needs the room`,
    attacks: [
      // There are 28,232 ports.
      { kind: 'flows', cap: 30_000, usual: 500, own: true },
      { kind: 'neighbours', cap: 70_000, usual: 500, inUse: neighboursInUse },
      { kind: 'routes', cap: 10, usual: 0, bound: 0 },
    ],
  },
  {
    what: 'keys and keyrings',
    owner: 'user',
    bound: 'nothing',
    keptBy: refused,
    attacks: [{ kind: 'keys', cap: 10, usual: 0, bound: 0 }],
  },
  {
    what: 'namespaces of all kinds, mounts, fanotify, io_uring, bpf, perf, userfaultfd',
    owner: 'user namespace, box',
    bound: 'nothing; 256 drives, mounted by the host',
    keptBy: refused,
    attacks: [],
    elsewhere: ['test/programs/walls.py', "'system-call'"],
  },
  {
    what: 'record locks of files (`fcntl`, `lockf`)',
    owner: 'box',
    bound: `${locks}`,
    keptBy:
      'the server, as no limit of the kernel counts them and no control group is charged their 192 bytes (Linux 6.18; `RLIMIT_LOCKS` has had no effect since 2.4): every two seconds (less often when the box has tens of thousands) it looks how many there are, and when they have become more by that many, whose descriptors show them (`/proc/PID/fdinfo`, as whoever holds such a lock has the file open); processes with the most are ended (SIGKILL) until the sandbox has no more than it may, and the log says so (`locks.ended`). Between two looks a processor makes some 50 MB of them. Locks of open files (`F_OFD_SETLK`), which could stay where nobody has the file, are `EINVAL`, as before Linux 3.15',
    attacks: [{ kind: 'locks', cap: 9_000, usual: 1_000, bound: locks }],
  },
  {
    what: 'locks of whole files (`flock`), leases',
    owner: 'box',
    bound: 'one for each open file',
    keptBy: 'open files are charged to its memory, 232 bytes and more each; a lock is 192 of the box besides',
    attacks: [],
    elsewhere: ['test/e2e/shared-tables.test.ts', 'tables of the kernel'],
  },
]

/** As it stands in docs/walls.md. */
export const tableText = (): string =>
  [
    '| what | counted for | what one sandbox may have | kept by |',
    '|---|---|---|---|',
    ...sharedTables.map(({ what, owner, bound, keptBy }) => `| ${what} | ${owner} | ${bound} | ${keptBy} |`),
  ].join('\n')
