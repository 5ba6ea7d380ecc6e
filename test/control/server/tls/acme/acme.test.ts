/** Certificates ordered from a real authority (pebble): by each challenge, ahead of need and with the handshake that asks. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { openAcme, type AcmeDeps } from '../../../../../control/server/tls/acme/acme.ts'
import { createChallenges } from '../../../../../control/server/tls/acme/challenges.ts'
import type { ChallengeType } from '../../../../../control/base/config/acme.ts'
import { loadConfig, type Config } from '../../../../../control/base/config.ts'
import { createSealer } from '../../../../../control/core/secrets/secrets.ts'
import { randomIds } from '../../../../../shared/ids.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { testAuthority } from '../../../../support/certificates.ts'
import { fakeClock } from '../../../../support/clock.ts'
import { startPebble, type Pebble } from '../../../../support/pebble.ts'
import { previewHost } from '../../../../support/previews.ts'
import { until } from '../../../../support/until.ts'
import { repository } from '../../../../support/whole-host.ts'

const usual = loadConfig({}, repository)

interface Shown {
  readonly names: string
  readonly issuer: string
}

/** The certificate that a handshake for a name is shown; undefined when there is none. */
const shown = (port: number, servername: string): Promise<Shown | undefined> =>
  new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false })
    socket
      .once('error', () => resolve(undefined))
      .once('secureConnect', () => {
        const { subjectaltname = '', issuer } = socket.getPeerCertificate()
        resolve({ names: subjectaltname, issuer: String(issuer.CN) })
        socket.destroy()
      })
  })

const withAcme = (
  pebble: Pebble,
  challenges: readonly ChallengeType[],
  more: Partial<Config> = {},
): Partial<Config> => ({
  port: pebble.tlsPort,
  caFile: pebble.caFile,
  publicUrl: 'https://hutch.example.com',
  tls: {
    ...usual.tls,
    httpPort: pebble.httpPort,
    acme: {
      directory: pebble.directory,
      email: 'ops@example.com',
      challenges,
      dnsHook: pebble.hook,
      dnsUpdates: undefined,
    },
  },
  ...more,
})

/** Beside the directory of the test, which is the host's. */
const pebbleIn = (t: Test): Promise<Pebble> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-pebble-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return startPebble(t, dir)
}

t.test('the operator’s name ahead of need, previews with the first handshake, by HTTP-01', async t => {
  const pebble = await pebbleIn(t)
  const s = await previewHost(t, { config: withAcme(pebble, ['http-01'], { previewDomain: 'previews.example.com' }) })
  t.equal(s.port, pebble.tlsPort)
  await until(
    async () => (await shown(s.port, 'hutch.example.com'))?.names === 'DNS:hutch.example.com',
    'the operator’s certificate',
  )
  const { address } = await s.preview('app')
  const host = new URL(address).hostname
  t.match(host, /\.local\.previews\.example\.com$/)
  t.match(await shown(s.port, host), { names: `DNS:${host}`, issuer: /Pebble/ }, 'ordered while the handshake waited')
  t.equal(
    (await shown(s.port, 'nobody.local.previews.example.com'))?.names,
    'DNS:hutch.example.com',
    'not for a preview that there is not',
  )
  const files = readdirSync(join(s.dataDir, 'acme'))
  t.equal(files.length, 3, 'an account and two certificates')
  for (const file of files)
    t.notMatch(readFileSync(join(s.dataDir, 'acme', file), 'utf8'), /PRIVATE KEY/, 'keys are sealed')
})

t.test('by TLS-ALPN-01, beside clients that want something else meanwhile', async t => {
  const pebble = await pebbleIn(t)
  const s = await previewHost(t, { config: withAcme(pebble, ['tls-alpn-01']) })
  await until(async () => {
    await Promise.all([shown(s.port, 'other.example'), shown(s.port, 'hutch.example.com')])
    return (await shown(s.port, 'hutch.example.com'))?.names === 'DNS:hutch.example.com'
  }, 'the certificate')
  t.match(await shown(s.port, 'hutch.example.com'), { issuer: /Pebble/ })
})

t.test('a wildcard by DNS-01, through the operator’s program', async t => {
  const pebble = await pebbleIn(t)
  const s = await previewHost(t, {
    config: withAcme(pebble, ['http-01', 'dns-01'], { previewDomain: 'previews.example.com' }),
  })
  await until(
    async () => (await shown(s.port, 'x.local.previews.example.com'))?.names === 'DNS:*.local.previews.example.com',
    'the wildcard',
  )
  t.match(await shown(s.port, 'hutch.example.com'), { names: 'DNS:hutch.example.com' })
})

const hourMs = 3_600_000

/** Everything but the authority; certificates are made here. */
const alone = async (t: Test, more: Partial<AcmeDeps> = {}) => {
  const dataDir = t.testdir({ made: {} })
  const authority = testAuthority(join(dataDir, 'made'))
  const clock = fakeClock(Date.now())
  const orders: string[] = []
  const order = async (name: string) => {
    orders.push(name)
    const { cert, key } = authority.sign(join(dataDir, 'made', 'one'), [name])
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  }
  const deps: AcmeDeps = {
    config: { ...usual.tls.acme, directory: 'https://acme.test/dir' },
    caFile: '',
    dataDir,
    challenges: createChallenges(),
    sealer: createSealer('key'),
    ids: randomIds(),
    log: silentLog,
    clock,
    own: [],
    changed: () => undefined,
    isServed: async () => true,
    order,
    ...more,
  }
  const open = async () => {
    const acme = await openAcme(deps)
    t.teardown(acme.close)
    return acme
  }
  return { acme: await open(), open, clock, orders }
}

t.test('one order however many ask; kept over a restart; renewed before its end while it is served', async t => {
  const served = new Set(['a.example', 'b.example'])
  const { acme, open, clock, orders } = await alone(t, { isServed: async name => served.has(name) })
  const both = await Promise.all([acme.certificateFor('a.example'), acme.certificateFor('A.example')])
  t.match(both, [{ names: ['a.example'] }, { names: ['a.example'] }])
  await acme.certificateFor('b.example')
  t.same(orders, ['a.example', 'b.example'])
  for (const name of ['c.example', '127.0.0.1', 'localhost', '*.a.example', 'a b.example'])
    t.equal(await acme.certificateFor(name), undefined, name)
  const again = await open()
  t.match(await again.certificateFor('a.example'), { names: ['a.example'] })
  t.equal(orders.length, 2)
  again.begin()
  served.delete('b.example')
  await clock.tick(40 * hourMs)
  await until(() => orders.length > 2, 'the renewal')
  t.equal(orders[2], 'a.example', 'good for 48 hours, renewed in the last third')
  t.notOk(orders.slice(2).includes('b.example'), 'nobody needs it any more')
})

t.test('what fails is left alone for longer and longer, and new names are few an hour', async t => {
  let fails = true
  let asked = 0
  const { acme, clock } = await alone(t, {
    order: async () => {
      asked++
      throw new Error(fails ? 'rate limited' : 'never')
    },
  })
  t.equal(await acme.certificateFor('a.example'), undefined)
  t.equal(await acme.certificateFor('a.example'), undefined)
  t.equal(asked, 1)
  await clock.tick(61_000)
  await acme.certificateFor('a.example')
  await clock.tick(61_000)
  await acme.certificateFor('a.example')
  t.equal(asked, 2, 'the second pause is longer')
  fails = false
  for (let n = 0; n < 30; n++) await acme.certificateFor(`n${n}.example`)
  t.equal(asked, 20)
  await clock.tick(hourMs)
  await acme.certificateFor('next.example')
  t.equal(asked, 21)
})

t.test('variables of ACME', async t => {
  const load = (env: Record<string, string>) => loadConfig(env, '/cwd').tls.acme
  t.match(load({ HUTCH_ACME_DIRECTORY: 'letsencrypt' }), {
    directory: /letsencrypt\.org/,
    challenges: ['http-01', 'tls-alpn-01'],
  })
  t.match(load({ HUTCH_ACME_DIRECTORY: 'https://ca.test/dir', HUTCH_ACME_DNS_HOOK: 'hook' }), {
    challenges: ['http-01', 'tls-alpn-01', 'dns-01'],
    dnsHook: '/cwd/hook',
  })
  t.throws(() => load({ HUTCH_ACME_EMAIL: 'a@b.example' }), { message: /^HUTCH_ACME_EMAIL: means nothing/ })
  t.throws(() => load({ HUTCH_ACME_DIRECTORY: 'letsencrypt', HUTCH_ACME_CHALLENGES: 'dns-01' }), {
    message: /^HUTCH_ACME_DNS_HOOK: /,
  })
  t.throws(() => load({ HUTCH_ACME_DIRECTORY: 'letsencrypt', HUTCH_ACME_CHALLENGES: 'dns' }), {
    message: /^HUTCH_ACME_CHALLENGES: /,
  })
})
