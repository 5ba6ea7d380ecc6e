import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../control/base/config.ts'
import { wireNames } from '../../../shared/wire-names.ts'

const load = (env: Record<string, string> = {}) => loadConfig(env, '/cwd')

t.test('defaults', async t => {
  t.match(load(), {
    host: '127.0.0.1',
    port: 8080,
    dataDir: '/cwd/.hutch',
    driver: 'auto',
    runtime: 'auto',
    regions: ['local'],
    standbyAfterMs: 15_000,
    reclaimAfterMs: 60_000,
    startupMs: 120_000,
    removeAfterMs: 86_400_000,
    subnet: '10.89.0.0/16',
    logLevel: 'info',
    prices: { sandbox_compute_runtime_gbs: 0.0000115 },
  })
  t.same(load({ HUTCH_PORT: '', HUTCH_REGIONS: ' ' }), load(), 'empty is not set')
})

t.test('what is given, with blanks around it taken off', async t => {
  t.match(
    load({
      HUTCH_HOST: ' ::1 ',
      HUTCH_PORT: ' 9000 ',
      HUTCH_PUBLIC_URL: 'https://hutch.example.com/base//',
      HUTCH_SANDBOX_DOMAIN: 'Boxes.Example.com',
      HUTCH_REGIONS: 'local, eu-west',
      HUTCH_PRICES: 'volume_storage_gbs=1e-9, sandbox_compute_runtime_gbs=0.5',
      HUTCH_SUBNET: '192.168.64.0/20',
      HUTCH_ALLOW_NETWORKS: '10.1.2.3, 192.168.7.0/24',
      HUTCH_STANDBY_SECONDS: '0.5',
      HUTCH_RECLAIM_SECONDS: '3',
      HUTCH_STARTUP_SECONDS: '4',
      HUTCH_REMOVE_SECONDS: '5',
      HUTCH_CA_FILE: '/etc/ca.pem',
      HUTCH_REGISTRIES: 'GHCR.io, *.example.com:5000, http://localhost:5000',
      HUTCH_IMAGE_ALIASES: 'python=docker.io/library/python:3.12-slim',
      HUTCH_IMAGE_MAX_MB: '100',
      HTTPS_PROXY: 'proxy:3128',
      no_proxy: 'localhost, .Example.com',
      HUTCH_SANDBOX_PROXY: 'http://proxy.corp:3128/',
      HUTCH_SANDBOX_NO_PROXY: 'a.corp, .b.corp',
      HUTCH_WARM: 'base = 4, registry:5000/a=b:tag=2',
      HUTCH_WARM_DEMAND: '8',
      HUTCH_PACKAGE_HOSTS: 'npm=NPM.example.com, go=goproxy.example.com',
      HUTCH_PACKAGE_CACHE_MB: '100',
    }),
    {
      host: '::1',
      port: 9000,
      publicUrl: 'https://hutch.example.com/base',
      sandboxDomain: 'boxes.example.com',
      regions: ['local', 'eu-west'],
      prices: { volume_storage_gbs: 1e-9, sandbox_compute_runtime_gbs: 0.5 },
      allowNetworks: ['10.1.2.3', '192.168.7.0/24'],
      standbyAfterMs: 500,
      reclaimAfterMs: 3_000,
      startupMs: 4_000,
      removeAfterMs: 5_000,
      registries: [
        { host: 'ghcr.io', plain: false },
        { host: '*.example.com', port: 5000, plain: false },
        { host: 'localhost', port: 5000, plain: true },
      ],
      imageAliases: { 'base-image': 'base', python: 'docker.io/library/python:3.12-slim' },
      pullLimits: { maxBytes: 104_857_600, atOnce: 2, timeMs: 1_800_000 },
      proxies: { http: '', https: 'proxy:3128', except: ['localhost', '.example.com'] },
      sandboxProxy: 'http://proxy.corp:3128',
      sandboxNoProxy: ['a.corp', '.b.corp'],
      warm: { base: 4, 'registry:5000/a=b:tag': 2 },
      warmDemand: 8,
      packages: {
        hosts: [
          { kind: 'npm', host: 'npm.example.com' },
          { kind: 'go', host: 'goproxy.example.com' },
        ],
        maxBytes: 104_857_600,
      },
    },
  )
  t.same(load().registries, [{ host: '*', plain: false }])
  t.same(load({ HUTCH_REGISTRIES: 'none' }).registries, [])
  t.match(load({ HUTCH_REGISTRIES: 'docker.io' }).registries, [
    { host: 'registry-1.docker.io' },
    { host: 'auth.docker.io' },
  ])
})

const wrong: Readonly<Record<string, readonly string[]>> = {
  HUTCH_HOST: ['256.1.1.1', '1.2.3', 'two words', 'http://x', '-a', ':::1'],
  HUTCH_PORT: ['1.5', '65536', '-1', '0x50', '1e3', 'http', '8080 9090'],
  HUTCH_PUBLIC_URL: ['hutch.example.com', 'ftp://x', 'http://u:p@x', 'http://x/?a', 'http://x/#a', 'http://'],
  HUTCH_SANDBOX_DOMAIN: ['a_b.com', '*.example.com', 'http://x', '10.0.0.1', 'a..b', `${'a'.repeat(64)}.com`],
  HUTCH_RUNTIME: ['docker'],
  HUTCH_SANDBOX_PROXY: ['proxy:3128', 'socks5://proxy', 'http://u:p@proxy'],
  HUTCH_SANDBOX_NO_PROXY: ['a,,b'],
  HUTCH_REGISTRIES: ['none,ghcr.io', 'ftp://x.y', '*:5000', 'http://*', 'a..b/c', 'ghcr.io:0', 'ghcr.io:70000', 'a b'],
  HUTCH_IMAGE_ALIASES: ['python', 'a=', '=b', 'a=b=c', 'A=b', 'a=b,a=c', 'a=--help'],
  HUTCH_IMAGE_MAX_MB: ['0', '1.5'],
  HUTCH_WIRE_NAMES: ['1a', 'A:B', 'A:a:b:c', 'A,A', 'Svc:other'],
  HUTCH_REGIONS: ['EU', 'a_b', 'auto', 'a,,b', 'a,a', 'a.b', ','],
  HUTCH_RECLAIM_SECONDS: ['0', 'never'],
  HUTCH_STARTUP_SECONDS: ['0', 'soon'],
  HUTCH_REMOVE_SECONDS: ['0', 'late'],
  HUTCH_STANDBY_SECONDS: ['0', '1e9', 'soon', '-1', 'Infinity'],
  HUTCH_LOG_LEVEL: ['loud'],
  HUTCH_LOG_FORMAT: ['xml'],
  HUTCH_SUBNET: [
    '8.8.0.0/16',
    '10.0.0.0',
    '10.0.0.0/25',
    '10.0.0.0/7',
    '172.15.0.0/16',
    '0.0.0.0/8',
    'fd00::/64',
    '192.0.0.0/8',
  ],
  HUTCH_ALLOW_NETWORKS: ['10.0.0.0/33', '0.0.0.0/0', 'lan', '10.0.0.1,'],
  HUTCH_EGRESS_RESOLVERS: ['dns.example', '1.2.3', '10.0.0.1:0', '10.0.0.1:99999', '[::1]:53', '10.0.0.1,'],
  HUTCH_EGRESS_PROXY: ['10.0.0.8:3128', 'https://10.0.0.8', 'http://10.0.0.8/x', 'http://a:b@10.0.0.8'],
  HUTCH_EGRESS_ADDRESSES: ['office.example', '10.0.0.0/24', '::1', '10.0.0.1,'],
  HUTCH_PACKAGE_HOSTS: [
    'npm',
    'npm=',
    'npm=localhost',
    'npm=10.0.0.1',
    'npm=a.b/c',
    'gem=a.b',
    'npm=a.b=c',
    'npm=a.b,go=a.b',
  ],
  HUTCH_PACKAGE_CACHE_MB: ['100', '1', 'all'],
  HUTCH_SLOTS_AHEAD: ['1.5', '-1', '2000'],
  HUTCH_PIDS_LIMIT: ['1', '4096.5'],
  HUTCH_WARM: ['base', 'base=', '=4', 'base=-1', 'base=1001', 'base=1.5', 'base=1,base=2', 'base=1,,node=2'],
  HUTCH_WARM_DEMAND: ['many', '-1', '1001'],
  HUTCH_PRICES: [
    'sandbox_compute_runtime_gbs',
    'sandbox_compute_runtime_gbs=',
    'sandbox_compute_runtime_gbs=-1',
    'sandbox_compute_runtime_gbs=NaN',
    'sandbox_compute_gbs=1',
    'sandbox_compute_runtime_gbs=1,sandbox_compute_runtime_gbs=2',
    '=1',
  ],
}

t.test('what cannot be used is refused, and the variable named', async t => {
  for (const [name, values] of Object.entries(wrong))
    for (const value of values)
      t.throws(() => load({ [name]: value }), { code: 'invalid_argument', message: `${name}: ` }, `${name}=${value}`)
})

t.test('a public subnet is refused with the reason', async t => {
  t.throws(() => load({ HUTCH_SUBNET: '8.8.0.0/16' }), {
    message: /public network.*could not be reached.*10\.0\.0\.0\/8/,
  })
  for (const subnet of ['10.0.0.0/8', '172.31.0.0/16', '100.127.0.0/16'])
    t.equal(load({ HUTCH_SUBNET: subnet }).subnet, subnet)
})

t.test("another vendor's wire is one file, beside ours", async t => {
  const path = join(t.testdir(), 'profile.json')
  const withFile = (content: unknown, env: Record<string, string> = {}) => {
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return load({ HUTCH_WIRE_PROFILE: path, ...env })
  }
  const config = withFile(
    {
      header: 'Acme',
      short: 'ac',
      image: 'acme',
      variable: 'AZ',
      previewToken: 'ac-preview',
      cookie: 'acme_login',
      oauthClient: 'acme-cli',
      label: 'x-ac-',
      extension: 'com.acme.',
      imageAliases: { 'py-app': 'base' },
      regions: ['us-west-1'],
      versions: { '2026-06-01': '2026-04-28' },
    },
    { HUTCH_WIRE_NAMES: 'Other', HUTCH_REGIONS: 'eu' },
  )
  t.match(config, {
    regions: ['eu', 'us-west-1'],
    imageAliases: { 'py-app': 'base' },
    apiVersions: { '2026-06-01': '2026-04-28' },
  })
  const names = wireNames(config.wireNames)
  t.same(names.header('workspace'), ['x-svc-workspace', 'x-other-workspace', 'x-acme-workspace'])
  t.same(names.versionHeaders, ['svc-version', 'other-version', 'acme-version'])
  t.same(names.env('NAME'), ['SVC_NAME', 'OTHER_NAME', 'AZ_NAME', 'ACME_NAME'])
  t.same(names.driveEnv('UID_MAP'), ['SVCFS_UID_MAP', 'OTHERFS_UID_MAP', 'AZFS_UID_MAP'])
  t.same(names.previewTokens, ['svc_preview_token', 'other_preview_token', 'ac-preview'])
  t.same(names.cookies, ['svc_preview_token', 'other_preview_token', 'acme_login'])
  t.same(names.oauthClients, ['svc', 'other', 'acme-cli'])
  t.same(names.label('auto-generated'), ['x-svc-auto-generated', 'x-other-auto-generated', 'x-ac-auto-generated'])
  t.equal(names.extension('a/b').at(-1), 'com.acme.a/b')
  t.same(withFile({ header: 'Acme' }).wireNames[1], { header: 'Acme', short: 'acme', image: 'acme' })
  const bad: [unknown, RegExp][] = [
    ['{', /profile\.json is not JSON/],
    [{}, /header: is missing/],
    [{ header: 'Acme', headers: 'x' }, /has no field headers/],
    [{ header: 'A B' }, /header: must be letters and digits/],
    [{ header: 'svc' }, /"svc" is ours/],
    [{ header: 'Acme', regions: ['auto'] }, /regions\.0: must be a host label/],
    [{ header: 'Acme', versions: { '2026-06-01': '2026-06-01' } }, /versions\.2026-06-01: must be one of 2026-04-16/],
    [{ header: 'Acme', versions: { newest: '2026-04-28' } }, /versions\.newest: has a key that is not allowed/],
    [{ header: 'Acme', imageAliases: { a: 1 } }, /imageAliases\.a: must be a string/],
  ]
  for (const [content, message] of bad)
    t.throws(() => withFile(content), { code: 'invalid_argument', message }, JSON.stringify(content))
  t.throws(() => load({ HUTCH_WIRE_PROFILE: '/none' }), {
    message: /^HUTCH_WIRE_PROFILE: \/none cannot be read: ENOENT/,
  })
  t.throws(() => withFile('', {}), { message: /^HUTCH_WIRE_PROFILE: / })
})

t.test('names that nobody reads are refused, with the one that was meant', async t => {
  t.throws(() => load({ HUTCH_PROT: '1' }), {
    message: 'HUTCH_PROT: is not a variable of Hutch; did you mean HUTCH_PORT?',
  })
  t.throws(() => load({ hutch_port: '1' }), { message: /hutch_port: .*did you mean HUTCH_PORT/ })
  t.throws(() => load({ HUTCH_COLOUR: '1' }), {
    message: /HUTCH_COLOUR: is not a variable of Hutch; there are HUTCH_HOST, /,
  })
  t.throws(() => load({ HUTCH_STATE_DIR: '/x' }), { message: /HUTCH_STATE_DIR: is read by hutchd/ })
  t.throws(() => load({ HUTCH_PRICES: 'sandbox_compute_runtime_gb=1' }), {
    message: /did you mean sandbox_compute_runtime_gbs\?/,
  })
})

t.test('what was built is found from the installation, never from the current directory', async t => {
  const of = (kind: 'checkout' | 'package') => loadConfig({ HUTCH_DATA_DIR: '/data' }, '/cwd', { kind, root: '/hutch' })
  t.match(of('checkout'), { bundleDir: '/hutch/.runtime/bundle', imagesDir: '/hutch/.runtime/images' })
  t.match(of('package'), { bundleDir: '/data/runtime/bundle', imagesDir: '/data/runtime/images' })
  t.match(load({ HUTCH_BUNDLE_DIR: 'b', HUTCH_IMAGES_DIR: '/i' }), { bundleDir: '/cwd/b', imagesDir: '/i' })
})
