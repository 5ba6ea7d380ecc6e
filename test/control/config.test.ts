import t from 'tap'
import { loadConfig } from '../../control/config.ts'

const load = (env: Record<string, string> = {}) => loadConfig(env, '/cwd')

t.test('defaults', async t => {
  t.match(load(), {
    host: '127.0.0.1',
    port: 8080,
    dataDir: '/cwd/.hutch',
    driver: 'auto',
    runtime: 'runc',
    regions: ['local'],
    standbyAfterMs: 15_000,
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
      HUTCH_CA_FILE: '/etc/ca.pem',
      HUTCH_WARM: 'base = 4, registry:5000/a=b:tag=2',
      HUTCH_WARM_DEMAND: '8',
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
      warm: { base: 4, 'registry:5000/a=b:tag': 2 },
      warmDemand: 8,
    },
  )
})

const wrong: Readonly<Record<string, readonly string[]>> = {
  HUTCH_HOST: ['256.1.1.1', '1.2.3', 'two words', 'http://x', '-a', ':::1'],
  HUTCH_PORT: ['1.5', '65536', '-1', '0x50', '1e3', 'http', '8080 9090'],
  HUTCH_PUBLIC_URL: ['hutch.example.com', 'ftp://x', 'http://u:p@x', 'http://x/?a', 'http://x/#a', 'http://'],
  HUTCH_SANDBOX_DOMAIN: ['a_b.com', '*.example.com', 'http://x', '10.0.0.1', 'a..b', `${'a'.repeat(64)}.com`],
  HUTCH_RUNTIME: ['docker'],
  HUTCH_WIRE_NAMES: ['1a', 'A:B', 'A:a:b:c', 'A,A'],
  HUTCH_REGIONS: ['EU', 'a_b', 'auto', 'a,,b', 'a,a', 'a.b', ','],
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
