/** Defences of the walls around a sandbox, one at least for each family of attempts as its root. */
import type { Defence } from './defence.ts'

const test = 'test/e2e/channel.test.ts'
const lies = 'test/control/core/channel/lies.test.ts'
const hijacked = 'test/e2e/outbound-daemon.test.ts'
const calls = 'control/drivers/oci/spec/seccomp-calls.ts'

export const wallDefences: readonly Defence[] = [
  {
    name: 'privileges: namespaces can be made',
    file: calls,
    text: '\naccept accept4 access',
    instead: '\nunshare accept accept4 access',
    test,
  },
  {
    name: 'privileges: packets can be sent past the firewall',
    file: 'control/drivers/oci/spec/seccomp.ts',
    text: 'const families = [1, 2, 10]',
    instead: 'const families = [1, 2, 10, 17]',
    test,
  },
  {
    name: "host view: the kernel's notes can be read",
    file: 'control/drivers/oci/spec/mounts.ts',
    text: "  '/sys/kernel/notes',\n",
    instead: '',
    test,
  },
  {
    name: 'shared tables: keys can be made',
    file: calls,
    text: '\naccept accept4 access',
    instead: '\nadd_key keyctl accept accept4 access',
    test,
  },
  {
    name: 'gateway: the host can be reached past it',
    file: 'control/drivers/oci/net/firewall.ts',
    text: '      `-A ${chain}-IN -j DROP`,\n',
    instead: '',
    test,
  },
  {
    name: 'gateway: an application speaks in its name',
    file: 'control/server/proxy/gateway/headers.ts',
    text: '    if (ours.some(prefix => lower.startsWith(prefix) && lower !== `${prefix}cursor`)) continue\n',
    instead: '',
    test,
  },
  {
    name: 'gateway: a cookie without a name sets the login',
    file: 'control/server/proxy/gateway/cookies.ts',
    text: "value.replace(/^[\\s=]+/, '')",
    instead: 'value',
    test,
  },
  {
    name: 'a daemon keeps the host reading for as long as it likes',
    file: 'control/core/channel/questions.ts',
    text: 'if (this.heard > this.maxBytes + mostAround) throw',
    instead: 'if (this.heard < 0) throw',
    test: lies,
  },
  {
    name: 'a question waits for a connection for longer than it may take',
    file: 'shared/http/client/transport.ts',
    text: "  signal.addEventListener('abort', leave, { once: true })\n",
    instead: '',
    test: lies,
  },
  {
    name: 'a daemon that is silent holds up its clients',
    file: 'control/core/machines/tell.ts',
    text: 'timeoutMs: 2_000',
    instead: 'timeoutMs: 2_000_000',
    test: hijacked,
  },
  {
    name: 'daemon: root of the sandbox stops it by a signal',
    file: 'daemon/init/protect.ts',
    text: '  if (pid === 1) for (const name of stops)',
    instead: '  if (pid === 0) for (const name of stops)',
    test,
  },
  {
    name: 'daemon: root of the sandbox takes its descriptors away',
    file: 'daemon/main.ts',
    text: 'mostTenantConnections = 1_024',
    instead: 'mostTenantConnections = 100_024',
    test,
  },
]
