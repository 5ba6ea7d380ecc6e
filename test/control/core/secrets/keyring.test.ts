/** A new key for what is stored sealed: nothing is lost on the way, and in the end the old key opens nothing. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { changeKey, openKeys } from '../../../../control/core/secrets/keyring.ts'
import { renewStored } from '../../../../control/core/secrets/renew.ts'
import { createSealer } from '../../../../control/core/secrets/secrets.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { runCommand } from '../../../support/command.ts'
import { openTestHost, type TestHost } from '../../../support/whole-host.ts'

const ids = randomIds()
const sealedIn = (text: string) => text.match(/v1\.[\w-]{38,}/g) ?? []

const create = ({ api }: TestHost, name: string) => {
  const envs = [{ name: 'HUSH', value: `secret of ${name}`, secret: true }]
  return api('POST', '/sandboxes', { metadata: { name }, spec: { runtime: { image: 'busybox', envs } } })
}
const secretOf = async ({ world }: TestHost, name: string): Promise<string | undefined> =>
  [...world.machines.values()].find(({ spec }) => spec.hostname === name)?.spec.env['HUSH']
const stored = async ({ host }: TestHost): Promise<string[]> =>
  sealedIn(JSON.stringify(await host.store.resources.everyOf('sandbox')))

t.test('a running server seals anew; what it had before it opens on, and so does the next one', async t => {
  const dataDir = t.testdir()
  const first = await openTestHost(t, dataDir)
  await create(first, 'a')
  await first.until('a', 'DEPLOYED')
  const old = readFileSync(join(dataDir, 'secret-key'), 'utf8')
  const { identity } = first.host.store
  await identity.addSigningKey({ kid: 'k', sealed: createSealer(old).seal('signs'), createdAt: 0 })
  const ca = join(dataDir, 'egress-ca.json')
  writeFileSync(ca, JSON.stringify({ certificate: 'x', sealedKey: createSealer(old).seal('of the authority') }))
  t.match(await runCommand(['rotate'], { HUTCH_DATA_DIR: dataDir }), {
    code: 0,
    out: /3 stored secrets were sealed anew/,
  })
  const now = readFileSync(join(dataDir, 'secret-key'), 'utf8')
  t.not(now, old)
  t.notOk(now.includes(old), 'the old one is nowhere')
  const values = [...(await stored(first)), JSON.parse(readFileSync(ca, 'utf8')).sealedKey]
  t.equal(values.length, 2)
  for (const value of values) {
    t.throws(() => createSealer(old).open(value))
    t.ok(createSealer(now).open(value))
  }
  t.equal(createSealer(now).open(values[1]), 'of the authority')
  const [signing] = await identity.signingKeys()
  t.equal(createSealer(now).open(signing?.sealed ?? ''), 'signs')
  await create(first, 'b')
  await first.until('b', 'DEPLOYED')
  await first.close()
  const second = await openTestHost(t, dataDir)
  await create(second, 'c')
  await second.until('c', 'DEPLOYED')
  for (const value of await stored(second)) t.ok(createSealer(now).open(value))
  t.equal(await secretOf(first, 'a'), 'secret of a')
})

t.test('killed anywhere on the way, everything opens, and the next attempt goes on', async t => {
  const dataDir = t.testdir()
  const first = await openTestHost(t, dataDir)
  for (const name of ['a', 'b', 'c']) await create(first, name)
  for (const name of ['a', 'b', 'c']) await first.until(name, 'DEPLOYED')
  await first.close()
  const { secret } = await openKeys(dataDir, ids)
  const old = createSealer(readFileSync(join(dataDir, 'secret-key'), 'utf8'))
  for (let fatal = 1; fatal <= 3; fatal++) {
    const host = await openTestHost(t, dataDir)
    const { keyring } = await openKeys(dataDir, ids)
    let renewed = 0
    const renewAll = () =>
      renewStored({ dataDir, ids, upkeep: host.host.store.upkeep }, sealed => {
        if (++renewed === fatal) throw new Error('the host is no more')
        return keyring.renew(sealed)
      })
    await t.rejects(changeKey({ dataDir, ids, keyring, renewAll }), { message: 'the host is no more' })
    await host.close()
    const { keyring: next } = await openKeys(dataDir, ids)
    const again = await openTestHost(t, dataDir)
    for (const value of await stored(again)) t.match(next.open(value), /^secret of [abc]$/)
    await again.close()
  }
  t.match(await runCommand(['rotate'], { HUTCH_DATA_DIR: dataDir }), { code: 0 })
  const last = await openTestHost(t, dataDir)
  const [key, ...more] = readFileSync(join(dataDir, 'secret-key'), 'utf8').split('\n').filter(Boolean)
  t.same(more, [])
  for (const value of await stored(last)) {
    t.match(createSealer(key as string).open(value), /^secret of [abc]$/)
    t.throws(() => old.open(value))
  }
  t.equal((await openKeys(dataDir, ids)).secret, secret, 'machines that run are still reached')
})

t.test('a change that fails half-way is gone on with: the key it has made leads, and no third one is made', async t => {
  const dataDir = t.testdir()
  const { keyring } = await openKeys(dataDir, ids)
  const lines = () => readFileSync(join(dataDir, 'secret-key'), 'utf8').split('\n')
  const [old = ''] = lines()
  const early = keyring.seal('early')
  const failing = async () => Promise.reject(new Error('the disk is full'))
  await t.rejects(changeKey({ dataDir, ids, keyring, renewAll: failing }), { message: 'the disk is full' })
  const [leading = '', second] = lines()
  t.equal(second, old, 'both are there')
  const late = keyring.seal('late')
  t.equal(createSealer(leading).open(late), 'late', 'what is sealed from then on is under the new one')
  t.equal(keyring.open(early), 'early')

  const renewed: string[] = []
  const renewAll = async (renew: (sealed: string) => string | undefined) => {
    for (const sealed of [early, late, 'v1.nothing that any key opens, as long as one']) {
      const anew = renew(sealed)
      if (anew !== undefined) renewed.push(anew)
    }
    return renewed.length
  }
  t.equal(await changeKey({ dataDir, ids, keyring, renewAll }), 1)
  t.same(lines(), [leading])
  t.equal(createSealer(leading).open(renewed[0] as string), 'early')
  t.equal(keyring.open(early), 'early', 'this process opens on what it has read before')
  t.throws(() => createSealer(leading).open(early))
  t.equal((await openKeys(dataDir, ids)).keyring.open(late), 'late')
})
