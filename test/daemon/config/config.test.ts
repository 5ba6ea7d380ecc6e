import { totalmem } from 'node:os'
import t from 'tap'
import { loadConfig } from '../../../daemon/config/config.ts'
import { parseFlags } from '../../../daemon/config/flags.ts'

const load = (env: Record<string, string> = {}, argv: string[] = []) =>
  loadConfig({ env, flags: parseFlags(argv), cwd: '/somewhere' })

t.test('without any variable there are working defaults', async t => {
  const config = load()
  t.match(config, {
    port: 8080,
    workdir: '/somewhere',
    terminal: true,
    logRequests: true,
    serverTiming: false,
    keepAlive: true,
    metadataPaths: ['/svc/metadata'],
    scaleFile: '/uk/libukp/scale_to_zero_disable',
    stateFile: '/tmp/sandbox-api-process-state.json',
    upgradeCount: 0,
    releasesUrl: '',
    releasesDir: '',
    rehearsal: false,
    localProxyPort: 49152,
    logs: {
      dir: '/var/log/sandbox-api',
      telemetry: true,
      maxFileBytes: 32 * 1024 * 1024,
      inMemoryBytes: 64 * 1024,
      responseBytes: 4 * 1024 * 1024,
    },
  })
  t.ok(config.logs.maxTotalBytes > 0)
  t.ok(Object.isFrozen(config) && Object.isFrozen(config.logs) && Object.isFrozen(config.environment))
})

t.test('the heap of the daemon has a share of the memory, and enough of it', async t => {
  const MiB = 1024 * 1024
  const whole = load({ SANDBOX_MAX_HEAP_PERCENT: '100' }).heapLimitBytes ?? 0
  const share = (percent: number) => Math.max(64 * MiB, Math.floor((whole * percent) / 100))
  t.ok(whole >= 64 * MiB && whole <= totalmem())
  t.equal(load().heapLimitBytes, share(20))
  t.equal(load({ SANDBOX_MAX_HEAP_PERCENT: '50' }).heapLimitBytes, share(50))
  for (const wrong of ['0', '101', 'much', '-5'])
    t.equal(load({ SANDBOX_MAX_HEAP_PERCENT: wrong }).heapLimitBytes, share(20), wrong)
  t.equal(load({ SANDBOX_MAX_HEAP_PERCENT: '1' }).heapLimitBytes, share(1), 'not below 64 MiB')
  t.equal(load({ GOMEMLIMIT: '1GiB' }).heapLimitBytes, undefined)
})

t.test('the host says how much memory there is, where it does', async t => {
  const told = loadConfig({ env: {}, flags: parseFlags([]), cwd: '/', memoryBytes: 3_000_000_000 })
  t.equal(told.heapLimitBytes, 600_000_000)
  t.equal(told.logs.maxTotalBytes, 300_000_000)
})

t.test('variables are read, and what makes no sense falls back', async t => {
  t.equal(load({ WORKDIR: '/app' }).workdir, '/app')
  t.equal(load({ WORKDIR: 'sub' }).workdir, '/somewhere/sub')
  t.equal(load({ SANDBOX_LOCAL_PROXY_PORT: '50000' }).localProxyPort, 50_000)
  for (const port of ['0', '65536', 'x', '', '-1', '1e3'])
    t.equal(load({ SANDBOX_LOCAL_PROXY_PORT: port }).localProxyPort, 49_152, port)
  t.equal(load({ SANDBOX_MAX_LOG_FILE_BYTES: '0' }).logs.maxFileBytes, 0)
  t.equal(load({ SANDBOX_MAX_LOG_FILE_BYTES: 'lots' }).logs.maxFileBytes, 32 * 1024 * 1024)
  t.equal(load({ SANDBOX_MAX_LOG_BYTES_TOTAL: '7', SANDBOX_MAX_LOG_PERCENT: '50' }).logs.maxTotalBytes, 7)
  for (const value of ['true', '1']) t.equal(load({ DISABLE_TERMINAL: value }).terminal, false, value)
  t.equal(load({ DISABLE_TERMINAL: 'no' }).terminal, true)
  t.equal(load({ RELACE_BASE_URL: 'http://x/' }).codegen.relaceUrl, 'http://x')
})

t.test('keepAlive is switched off by a boolean, blanks trimmed; garbage is false', async t => {
  for (const value of ['true', ' 1 ', 'T', 'TRUE'])
    t.equal(load({ SVC_DISABLE_KEEPALIVE: value }).keepAlive, false, value)
  for (const value of ['', '0', 'false', 'yes', 'maybe'])
    t.equal(load({ SVC_DISABLE_KEEPALIVE: value }).keepAlive, true, value)
})

t.test('the workload user counts when switched on; the flag counts by itself and wins', async t => {
  t.equal(load({ SVC_SANDBOX_USER: 'app' }).user, undefined)
  t.equal(load({ SVC_SANDBOX_USER: 'app', SVC_SANDBOX_USER_ENABLED: 'nonsense' }).user, undefined)
  t.equal(load({ SVC_SANDBOX_USER: 'app', SVC_SANDBOX_USER_ENABLED: 'true' }).user, 'app')
  t.equal(load({ SVC_SANDBOX_USER: 'app', SVC_SANDBOX_USER_ENABLED: '1' }, ['--user', 'me']).user, 'me')
})

t.test('further vendor prefixes are configuration; the first one that is set wins', async t => {
  const names = 'Acme:ac,Svc:svc'
  t.equal(load({ HUTCH_WIRE_NAMES: names, AC_WORKSPACE: 'a', SVC_WORKSPACE: 's' }).workspace, 'a')
  t.equal(load({ HUTCH_WIRE_NAMES: names, SVC_WORKSPACE: 's' }).workspace, 's')
  t.equal(load({ HUTCH_WIRE_NAMES: names, ACME_SCALE_FILE: '/x' }).scaleFile, '/x')
  t.equal(load({ HUTCH_WIRE_NAMES: names, ACFS_UID_MAP: '7' }).drives.uidMap, '7')
  t.same(load({ HUTCH_WIRE_NAMES: names }).metadataPaths, ['/ac/metadata', '/svc/metadata'])
  t.throws(() => load({ HUTCH_WIRE_NAMES: '9:x' }), { code: 'invalid_argument', message: /HUTCH_WIRE_NAMES/ })
})

t.test("children do not see the daemon's own variables", async t => {
  const { environment } = load({ PATH: '/bin', HUTCH_RELEASES_URL: 'http://x', EMPTY: '' })
  t.same(environment, { PATH: '/bin', EMPTY: '' })
})
