/** Defences that the runtime sets up around a sandbox: what it sees, may do and may have of the box. */
import type { Defence } from './defence.ts'

const isolation = 'test/control/drivers/oci/isolation.test.ts'
const outside = 'test/control/drivers/oci/outside.test.ts'
const tables = 'test/e2e/shared-tables.test.ts'
const mounts = 'control/drivers/oci/spec/mounts.ts'
const config = 'control/drivers/oci/spec/config.ts'
const firewall = 'control/drivers/oci/net/firewall.ts'

export const machineDefences: readonly Defence[] = [
  {
    name: 'files of the kernel can be written to',
    file: mounts,
    text: "  '/proc/sys',\n",
    instead: '',
    test: isolation,
  },
  { name: 'interrupts can be steered', file: mounts, text: "  '/proc/irq',\n", instead: '', test: isolation },
  { name: 'locks of the whole box are seen', file: mounts, text: "  '/proc/locks',\n", instead: '', test: isolation },
  {
    name: 'disks of others are seen',
    file: mounts,
    text: "  '/sys/devices/virtual/block',\n",
    instead: '',
    test: isolation,
  },
  { name: 'counters of slabs can be read', file: mounts, text: "  '/proc/slabinfo',\n", instead: '', test: isolation },
  {
    name: 'control groups can be made',
    file: mounts,
    text: "source: 'cgroup', options: [...quiet, 'relatime', 'ro']",
    instead: "source: 'cgroup', options: [...quiet, 'relatime', 'rw']",
    test: isolation,
  },
  {
    name: 'all processes of the box are seen',
    file: config,
    text: "    { type: 'pid' },\n",
    instead: '',
    test: isolation,
  },
  {
    name: 'processes have no end',
    file: config,
    text: 'pids: { limit: pidsLimit }',
    instead: 'pids: { limit: pidsLimit * 100 }',
    test: isolation,
  },
  {
    name: 'memory has no end',
    file: config,
    text: 'const memory = Math.round(spec.memoryMb * 1024 * 1024)',
    instead: 'const memory = Math.round(spec.memoryMb * 1024 * 1024 * 100)',
    test: isolation,
  },
  {
    name: 'the daemon has a capability that leads out',
    file: 'control/drivers/oci/spec/capabilities.ts',
    text: "  'CAP_SYS_CHROOT',\n",
    instead: "  'CAP_SYS_CHROOT',\n  'CAP_SYS_RAWIO',\n",
    test: isolation,
  },
  {
    name: 'variables of the tenant steer the first process',
    file: config,
    text: ': guardEnvironment({ ...spec.env, WORKDIR: spec.workdir })',
    instead: ': { ...spec.env, WORKDIR: spec.workdir }',
    test: isolation,
  },
  {
    name: 'connections to the outside have no end',
    file: firewall,
    text: 'connections === undefined ? []',
    instead: 'connections !== undefined ? []',
    test: outside,
  },
  {
    name: 'who is outside reaches a machine',
    file: firewall,
    text: '      `-A ${chain}-TO -j DROP`,\n',
    instead: '',
    test: outside,
  },
  {
    name: 'private networks are open',
    file: firewall,
    text: '      ...privateNetworks.map(network => forward(`-d ${network} -j DROP`)),\n',
    instead: '',
    test: outside,
  },
  {
    name: 'shared tables: pseudo-terminals have no end',
    file: mounts,
    text: "'gid=5', `max=${terminals}`]",
    instead: "'gid=5']",
    test: tables,
  },
  {
    name: 'shared tables: buffers of sockets have no end',
    file: 'control/drivers/oci/boot.ts',
    text: '  limitSockets(hierarchy, group, spec.memoryMb)\n',
    instead: '',
    test: tables,
  },
  {
    name: 'shared tables: semaphores are one table for all',
    file: config,
    text: "    { type: 'ipc' },\n",
    instead: "    { type: 'ipc', path: '/proc/1/ns/ipc' },\n",
    test: tables,
  },
  {
    name: 'shared tables: tenants change routes',
    file: 'daemon/init/capabilities.ts',
    text: '  NET_RAW: 13,\n',
    instead: '  NET_ADMIN: 12,\n  NET_RAW: 13,\n',
    test: tables,
  },
  {
    name: 'the daemon keeps its state where tenants can write',
    file: 'control/drivers/oci/boot.ts',
    text: "HUTCH_PRIVATE_FD: handsOnDescriptors(runtime) ? String(privateFd) : '',",
    instead: "HUTCH_PRIVATE_FD: '',",
    test: 'test/e2e/drive-owners.test.ts',
  },
  {
    name: 'the daemon on gVisor believes what its tenant has written',
    file: 'daemon/own-files/seal.ts',
    text: 'return given.legacy',
    instead: 'return true',
    test: 'test/daemon/process/journal.test.ts',
  },
]
