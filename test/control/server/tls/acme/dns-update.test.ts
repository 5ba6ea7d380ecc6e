/** Records of challenges by signed updates (RFC 2136) in a real name server, and a certificate of a real authority that looks there. */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readKey, type TsigKey } from '../../../../../control/server/tls/acme/dns-update/key.ts'
import { sign } from '../../../../../control/server/tls/acme/dns-update/tsig.ts'
import { updateDns } from '../../../../../control/server/tls/acme/dns-update/update.ts'
import { orderCertificate } from '../../../../../control/server/tls/acme/order.ts'
import { createChallenges } from '../../../../../control/server/tls/acme/challenges.ts'
import { loadConfig } from '../../../../../control/base/config.ts'
import { createSealer } from '../../../../../control/core/secrets/secrets.ts'
import { pairOf } from '../../../../../control/server/tls/pairs.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { randomIds } from '../../../../../shared/ids.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { knot, knotMissing } from '../../../../support/knot.ts'
import { startPebble } from '../../../../support/pebble.ts'

const missing = knotMissing()
const zone = 'previews.example.com'
const name = `_acme-challenge.local.${zone}`
const nowS = () => Math.floor(Date.now() / 1000)

const scratch = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-dns-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** The key of a file that has this text. */
const keyOf = async (t: Test, text: string): Promise<TsigKey> => {
  const file = join(scratch(t), 'key')
  writeFileSync(file, text)
  return readKey(file)
}

const needsKnot = missing ? { skip: missing } : {}

t.test('a record is there when it was added, beside others, and gone when it was removed', needsKnot, async t => {
  const { port, keyFile, otherKeyFile } = await knot(t, scratch(t), zone)
  const server = { host: '127.0.0.1', port }
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  resolver.setServers([`127.0.0.1:${port}`])
  const shown = async () => (await resolver.resolveTxt(name).catch(() => [])).flat().toSorted()
  const record = (value: string) => ({ name, value, ttlS: 60 })
  await updateDns({ server, keyFile }, { add: record('one') }, nowS())
  await updateDns({ server, keyFile }, { add: record('two') }, nowS())
  t.same(await shown(), ['one', 'two'], 'two orders at a time')
  await updateDns({ server, keyFile }, { remove: record('one') }, nowS())
  t.same(await shown(), ['two'])
  await t.rejects(updateDns({ server, keyFile: otherKeyFile }, { add: record('three') }, nowS()), {
    message: /refuses the update of _acme-challenge.*: NOTAUTH/,
  })
  await t.rejects(updateDns({ server, keyFile }, { add: record('three') }, nowS() - 3_600), { message: /NOTAUTH/ })
  await t.rejects(
    updateDns({ server, keyFile }, { add: { ...record('x'), name: '_acme-challenge.other.test' } }, nowS()),
    {
      message: /has no zone with _acme-challenge.other.test/,
    },
  )
  t.same(await shown(), ['two'], 'and nothing has changed')
})

t.test('a wildcard of an authority that looks in that name server', needsKnot, async t => {
  const dir = scratch(t)
  const { port, keyFile } = await knot(t, dir, zone)
  const pebble = await startPebble(t, dir, port)
  const sealer = createSealer('key')
  const usual = loadConfig({}, dir).tls.acme
  const ordered = await orderCertificate(`*.local.${zone}`, {
    config: {
      ...usual,
      directory: pebble.directory,
      challenges: ['dns-01'],
      dnsUpdates: { server: { host: '127.0.0.1', port }, keyFile, settleMs: 0 },
    },
    caFile: pebble.caFile,
    dir,
    challenges: createChallenges(),
    sealer,
    ids: randomIds(),
    clock: systemClock(),
    log: silentLog,
  })
  t.same(pairOf(ordered.cert, ordered.key).names, [`*.local.${zone}`])
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  resolver.setServers([`127.0.0.1:${port}`])
  await t.rejects(resolver.resolveTxt(name), { code: 'ENODATA' }, 'nothing is left of it')
})

t.test('an answer that is not signed with the key counts for nothing', async t => {
  const keyFile = join(scratch(t), 'key')
  writeFileSync(keyFile, 'key "k" { algorithm hmac-sha256; secret "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="; };')
  const zoneAnswer = (id: Buffer) =>
    Buffer.concat([
      id,
      Buffer.from('8400000000010000' + '0000', 'hex'),
      Buffer.from([2, 0x65, 0x78, 0, 0, 6, 0, 1, 0, 0, 0, 60, 0, 22, 0, 0]),
      Buffer.alloc(20),
    ])
  const wrong = await keyOf(
    t,
    'key "k" { algorithm hmac-sha256; secret "d3Jvbmcgd3Jvbmcgd3Jvbmcgd3Jvbmcgd3Jvbmcgd3I="; };',
  )
  const forged = [
    (id: Buffer) => Buffer.concat([id, Buffer.from('a80000000000' + '00000000', 'hex')]),
    (id: Buffer) => sign(Buffer.concat([id, Buffer.from('a80000000000' + '00000000', 'hex')]), wrong, nowS()).message,
    (id: Buffer) => Buffer.concat([id, Buffer.from('a8000000000000000001', 'hex')]),
  ]
  for (const [at, say] of forged.entries()) {
    let asked = 0
    const server = createServer(socket =>
      socket.once('data', piece => {
        const answer = asked++ === 0 ? zoneAnswer(piece.subarray(2, 4)) : say(piece.subarray(2, 4))
        const size = Buffer.alloc(2)
        size.writeUInt16BE(answer.length)
        socket.end(Buffer.concat([size, answer]))
      }),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const record = { name: '_acme-challenge.ex', value: 'v', ttlS: 60 }
    await t.rejects(
      updateDns({ server: { host: '127.0.0.1', port }, keyFile }, { add: record }, nowS()),
      { message: /is not signed|is wrong|out of range|outside/i },
      `answer ${at}`,
    )
    t.equal(asked, 2)
    server.close()
  }
})

t.test('a signature is the one of RFC 8945', async t => {
  const key = await keyOf(t, 'key "K.Example." { algorithm hmac-sha256; secret "MDEyMzQ1Njc4OWFiY2RlZg=="; };')
  t.match(key, { name: 'k.example', hash: 'sha256' })
  const message = Buffer.from('0001280000010000' + '00000000' + '0000060001', 'hex')
  const { message: signed, mac } = sign(message, key, 1_700_000_000)
  const variables = Buffer.from(
    `016b076578616d706c6500${'00ff00000000'}${'0b686d61632d73686132353600'}${'00006553f100'}${'012c00000000'}`,
    'hex',
  )
  t.equal(mac.toString('hex'), createHmac('sha256', '0123456789abcdef').update(message).update(variables).digest('hex'))
  t.equal(signed.readUInt16BE(10), 1, 'one record more')
  t.equal(signed.subarray(-6).toString('hex'), '000100000000', 'the id of the request, no error, nothing else')
  for (const [text, said] of [
    ['', /not of the form/],
    ['key "k" { algorithm hmac-md5; secret "MDEyMzQ1Njc4OWFiY2RlZg=="; };', /hmac-md5 is none of/],
    ['key "k" { algorithm hmac-sha256; secret "YQ=="; };', /fewer than 16 bytes/],
  ] as const)
    await t.rejects(keyOf(t, text), { message: said })
})

t.test('variables', async t => {
  const load = (env: Record<string, string>) =>
    loadConfig({ HUTCH_ACME_DIRECTORY: 'letsencrypt', ...env }, '/cwd').tls.acme
  const updates = { HUTCH_ACME_DNS_SERVER: '192.0.2.53', HUTCH_ACME_DNS_KEY: 'tsig.key' }
  t.match(load({ ...updates, HUTCH_ACME_DNS_SECONDS: '30' }), {
    challenges: ['http-01', 'tls-alpn-01', 'dns-01'],
    dnsUpdates: { server: { host: '192.0.2.53', port: 53 }, keyFile: '/cwd/tsig.key', settleMs: 30_000 },
  })
  for (const [env, wrong] of [
    [{ HUTCH_ACME_DNS_SERVER: '192.0.2.53' }, 'HUTCH_ACME_DNS_KEY'],
    [{ HUTCH_ACME_DNS_KEY: 'k' }, 'HUTCH_ACME_DNS_KEY'],
    [{ HUTCH_ACME_DNS_SECONDS: '1' }, 'HUTCH_ACME_DNS_SECONDS'],
    [{ ...updates, HUTCH_ACME_DNS_SERVER: 'ns.example.com' }, 'HUTCH_ACME_DNS_SERVER'],
    [{ ...updates, HUTCH_ACME_DNS_HOOK: 'hook' }, 'HUTCH_ACME_DNS_HOOK'],
  ] as const)
    t.throws(() => load(env), { message: new RegExp(`^${wrong}: `) }, wrong)
})
