/** What `openHost` is given is refused by its name, as a variable is; nothing is set up before. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig, type Config } from '../../../control/base/config.ts'
import { serverNames } from '../../../control/base/config/names.ts'
import { openHost } from '../../../control/index.ts'
import { configOf } from '../../../control/library/options.ts'

t.test('each option that is wrong is named, with what it must be', async t => {
  const dataDir = join(t.testdir(), 'data')
  for (const [option, value, reason] of [
    ['host', 'a_b', /"a_b" is neither an IP address nor a host name/],
    ['port', 1.5, /"1.5" must be an integer between 0 and 65535/],
    ['port', '8080', /must be a number/],
    ['port', null, /must be a number/],
    ['publicUrl', 'ftp://x', /must be an http or https URL/],
    ['sandboxDomain', '-x', /is not a domain name/],
    ['previewDomain', 'boxes.example.com', /must not be sandboxDomain/],
    ['runtime', 'docker', /must be one of auto, runc, crun, runsc/],
    ['regions', 'local', /must be a list/],
    ['regions', ['EU'], /"EU" must be lower-case letters/],
    ['logLevel', 'loud', /must be one of info/],
    ['subnet', '8.8.0.0/16', /is a public network/],
    ['allowNetworks', ['10.0.0.0/2'], /is not an IPv4 network/],
    ['egressResolvers', [{ host: 'x', port: 53 }], /is not an IPv4 address/],
    ['egressResolvers', [null], /is not what its type says/],
    ['warm', { base: -1 }, /"base=-1" must be an image and a number/],
    ['warm', [], /must be an object/],
    ['pidsLimit', 1, /between 32 and/],
    ['userNamespaces', true, /must be text/],
    ['prices', { nothing: 1 }, /is not a billing dimension/],
    ['registries', [{ host: '-', plain: false }], /is not a registry/],
    ['imageAliases', { 'A b': 'base' }, /is not name=reference/],
    ['standbyAfterMs', 1, /must be at least 50/],
    ['standbyAfterMs', Number.NaN, /must be a number/],
  ] as const) {
    const given = { dataDir, sandboxDomain: 'boxes.example.com', [option]: value } as Partial<Config>
    await t.rejects(openHost(given), { code: 'invalid_argument', message: reason, details: { field: option } }, option)
  }
  for (const [field, given] of [
    ['pullLimits.atOnce', { pullLimits: { maxBytes: 2 ** 30, atOnce: 0, timeMs: 60_000 } }],
    ['proxies.except', { proxies: { http: '', https: '', except: '*' } }],
    ['apiVersions.2030-01-01', { apiVersions: { '2030-01-01': 'newest' } }],
    ['wireNames.0.short', { wireNames: [{ header: 'Acme', short: 'A B', image: 'acme' }] }],
    ['wireNames', { wireNames: [{ header: 'Svc', short: 'other', image: 'svc' }] }],
  ] as const)
    await t.rejects(
      openHost({ dataDir, ...(given as object) }),
      { code: 'invalid_argument', details: { field } },
      field,
    )
  t.notOk(existsSync(dataDir), 'nothing was set up')
})

t.test('what a server read from its variables is what a program may give', async t => {
  const environment = {
    HUTCH_PUBLIC_URL: 'https://hutch.example.com/base//',
    HUTCH_REGISTRIES: 'docker.io, http://localhost:5000, *.example.com:5000',
    HUTCH_EGRESS_RESOLVERS: '10.0.0.53, 10.0.0.54:5353',
    HUTCH_PRICES: 'sandbox_compute_runtime_gbs=1.15e-5,volume_storage_gbs=1e-9',
    HUTCH_WARM: 'base=4',
    HUTCH_STANDBY_SECONDS: '0.5',
    HUTCH_WIRE_NAMES: 'Acme:acme:acme-images',
    HUTCH_PROVIDERS: 'https://api.openai.com',
    HUTCH_ALLOW_NETWORKS: '192.168.7.0/24',
    HUTCH_PACKAGE_HOSTS: 'npm=npm.example.com',
    HUTCH_IMAGE_ALIASES: 'python=docker.io/library/python:3.12-slim',
    https_proxy: 'http://proxy:3128',
  }
  const config = loadConfig(environment, process.cwd())
  t.same(configOf(config), config)
  t.same(configOf({}), loadConfig({}, process.cwd()), 'nothing is left out')
  t.same(configOf({ registries: [] }).registries, [], 'no pulls')
})

t.test('the page of the library has every option and every variable', async t => {
  const page = readFileSync(new URL('../../../docs/library.md', import.meta.url), 'utf8')
  for (const option of [...Object.keys(loadConfig({}, '/')), ...serverNames]) {
    const elsewhere = option === 'HUTCH_WIRE_NAMES'
    t.ok(elsewhere || page.includes(`\`${option}\``), option)
  }
})
