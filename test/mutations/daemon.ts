/** Defences of the daemon against root of its own sandbox, and of what goes past it, held by tests of single parts. */
import type { Defence } from './defence.ts'

const adopt = 'test/daemon/process/adopt.test.ts'
const journal = 'test/daemon/process/journal.test.ts'
const protect = 'test/daemon/init/protect.test.ts'
const read = 'test/daemon/config/read-regular-file.test.ts'
const browser = 'test/control/server/proxy/gateway/browser.test.ts'
const bill = 'test/control/core/metering/metrics.test.ts'

export const daemonDefences: readonly Defence[] = [
  {
    name: 'a file of any size is read',
    file: 'daemon/config/read-regular-file.ts',
    text: 'if (stat.size > maxBytes)',
    instead: 'if (stat.size < 0)',
    test: read,
  },
  {
    name: 'records of the first process are believed',
    file: 'daemon/process/journal.ts',
    text: 's.minimum(2)',
    instead: 's.minimum(0)',
    test: journal,
  },
  {
    name: 'records name files anywhere',
    file: 'daemon/process/journal.ts',
    text: '/^[^/.\\0][^/\\0]*$/',
    instead: '/./',
    test: journal,
  },
  {
    name: 'a pid that is a stranger’s now is adopted',
    file: 'daemon/process/adopt.ts',
    text: 'if (current && isSame(current, context.bootId))',
    instead: 'if (current)',
    test: adopt,
  },
  {
    name: 'the directory of records is everybody’s',
    file: 'daemon/own-files/own-files.ts',
    text: '  chmodSync(path, 0o700)\n',
    instead: '  chmodSync(path, 0o755)\n',
    test: adopt,
  },
  {
    name: 'the daemon can be traced',
    file: 'daemon/init/protect.ts',
    text: '  setDumpable(false)\n',
    instead: '',
    test: protect,
  },
  {
    name: 'a signal opens a debugger in the daemon',
    file: 'daemon/init/protect.ts',
    text: '  ignoreSignal(constants.signals.SIGUSR1)\n',
    instead: '',
    test: protect,
  },
  {
    name: 'tenants may change the firewall',
    file: 'daemon/init/capabilities.ts',
    text: '  SYS_CHROOT: 18,\n',
    instead: '  SYS_CHROOT: 18,\n  NET_ADMIN: 12,\n',
    test: 'test/daemon/init/capabilities.test.ts',
  },
  {
    name: 'tenants say what is the daemon’s environment',
    file: 'shared/guarded-env.ts',
    text: '    if (packed.test(name)) continue\n',
    instead: '',
    test: 'test/shared/guarded-env.test.ts',
  },
  {
    name: 'the key in an address is told by the page’s next request',
    file: 'control/server/proxy/gateway/headers.ts',
    text: "search.has('token') || ",
    instead: '',
    test: browser,
  },
  {
    name: 'a page tells its address to others',
    file: 'control/server/proxy/gateway/headers.ts',
    text: "if (!referrerPolicy) headers.push('referrer-policy', 'no-referrer')",
    instead: 'if (!referrerPolicy) headers.push()',
    test: browser,
  },
  {
    name: 'a withheld header passes with an underscore',
    file: 'control/server/proxy/gateway/headers.ts',
    text: "name.includes('_') ? name.replaceAll('_', '-') : name",
    instead: 'name',
    test: 'test/control/server/proxy/gateway/headers.test.ts',
  },
  {
    name: 'who brings no credential may be any number',
    file: 'control/server/proxy/gateway/newcomers.ts',
    text: 'if (oldest && waiting.size >= max)',
    instead: 'if (oldest && waiting.size < 0)',
    test: browser,
  },
  {
    name: 'a bill of another account is told',
    file: 'control/server/api/billing.ts',
    text: 'if (account !== accountId)',
    instead: 'if (account === "")',
    test: bill,
  },
  {
    name: 'a key of one workspace is told the bill of all',
    file: 'control/server/api/billing.ts',
    text: 'return { account, accountAdmin: false, workspace: bound?.name ?? workspace }',
    instead: 'return { account, accountAdmin: false, ...(bound ? {} : { workspace }) }',
    test: bill,
  },
]
