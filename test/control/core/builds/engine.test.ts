/** Records that wait for their images: what does not come in time, what fails, what is taken up again. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { createBuilds } from '../../../../control/core/builds/builds.ts'
import { createEngine, type EngineDeps } from '../../../../control/core/builds/engine.ts'
import { buildLogs } from '../../../../control/core/builds/log.ts'
import { uploadAddresses } from '../../../../control/core/builds/uploads/address.ts'
import { uploadFiles } from '../../../../control/core/builds/uploads/files.ts'
import { agentKind } from '../../../../control/core/kinds/agent.ts'
import { changes } from '../../../../control/core/transitions/changes.ts'
import type { Slot } from '../../../../control/core/transitions/slot.ts'
import { transition } from '../../../../control/core/transitions/transition.ts'
import { openStore } from '../../../../control/core/store/sqlite/open.ts'
import type { Resource, Written } from '../../../../control/core/store/store.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { silentLog } from '../../../../shared/log.ts'
import { createSealer } from '../../../../control/core/secrets/secrets.ts'
import { fakeClock } from '../../../support/clock.ts'

const minute = 60_000
const kind = agentKind()

const prepared = async (t: Test, make: EngineDeps['make']) => {
  const dir = t.testdir()
  const clock = fakeClock()
  const ids = randomIds()
  const store = await openStore({ path: join(dir, 'hutch.db') }, { log: silentLog })
  t.teardown(() => store.close())
  const kinds = new Map([[kind.kind, kind]])
  const files = await uploadFiles(join(dir, 'uploads'), 1_000)
  const logs = await buildLogs(join(dir, 'logs'), error => t.fail(String(error)))
  let written = (_all: Written): void => {}
  const move = transition({ store, clock, rules: kinds, changes: changes(), written: all => written(all) })
  const deps = { store, transition: move, clock, ids, log: silentLog, kinds, files, logs, make, poke: () => {} }
  const begin = async () => {
    const engine = createEngine(deps)
    written = engine.written
    await engine.begin()
    return engine
  }
  const engine = await begin()
  const builds = createBuilds({
    ...deps,
    transition: () => move,
    sealer: createSealer(ids.secret(32)),
    addresses: uploadAddresses('secret'),
    publicUrl: () => 'http://host',
  })
  const create = async (name: string): Promise<{ slot: Slot; url: string }> => {
    const slot = builds.slot()
    const revisions = { all: [{ id: 'r1', createdAt: '', createdBy: 'a', spec: {} }] }
    const key = { kind: kind.kind, workspace: 'main', parent: '', name }
    const by = { createdBy: 'a', updatedBy: 'a' }
    const draft = {
      ...key,
      uid: name,
      metadata: by,
      spec: {},
      status: 'UPLOADING',
      internal: { build: slot, revisions },
    }
    await move.write([{ create: draft, message: 'made' }])
    return { slot, url: builds.url(key, slot).split('/').at(-1) as string }
  }
  const settled = async (uid: string, status: string): Promise<Resource> => {
    for (let tries = 0; tries < 500; tries++) {
      const record = await store.resources.getByUid(uid)
      if (record?.status === status) return record
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    throw new Error(`${uid} does not become ${status}`)
  }
  const said = async (uid: string) => (await store.resources.events(uid)).at(-1)?.message
  const kept = () => readdirSync(join(dir, 'uploads'))
  return { clock, store, move, engine, begin, builds, create, settled, said, kept }
}

const body = (text: string) => Readable.from([Buffer.from(text)])

t.test('an upload that does not come ends FAILED, and its address is of no use', async t => {
  const { clock, builds, create, settled, said } = await prepared(t, async () => 'agent/x:1')
  const { url } = await create('late')
  await clock.tick(14 * minute)
  await settled('late', 'UPLOADING')
  await clock.tick(minute + 1)
  await settled('late', 'FAILED')
  t.equal(await said('late'), 'nothing was uploaded in time')
  await t.rejects(builds.receive(url, body('zip'), 3), { code: 'expired' })
})

t.test('an address that this host has not made is refused', async t => {
  const { builds, create } = await prepared(t, async () => 'agent/x:1')
  const { url } = await create('mine')
  const [payload = '', signature = ''] = url.split('.')
  const target = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
  const longer = Buffer.from(JSON.stringify({ ...target, expiresAt: target.expiresAt + 1 })).toString('base64url')
  for (const token of [`${longer}.${signature}`, `${payload}.${'A'.repeat(43)}`, payload, `${url}.x`, ''])
    await t.rejects(builds.receive(token, body('zip'), 3), { code: 'forbidden' }, token)
})

t.test('what is larger than it may be, with or without a length, is refused and leaves nothing', async t => {
  const { builds, create, settled, said, kept } = await prepared(t, async () => 'agent/x:1')
  for (const [name, length] of [
    ['told', 2_000],
    ['untold', undefined],
  ] as const) {
    const { url } = await create(name)
    await t.rejects(builds.receive(url, body('x'.repeat(2_000)), length), { code: 'payload_too_large' })
    await settled(name, 'FAILED')
    t.match(await said(name), /larger than 1000 bytes/)
  }
  const { url } = await create('empty')
  await t.rejects(builds.receive(url, body(''), 0), { code: 'invalid_body' })
  t.same(kept(), [])
})

t.test('the image stands in the spec and in the newest revision; a failure says why', async t => {
  const { builds, create, settled, said, kept } = await prepared(t, async ({ record, say }) => {
    say('building\n')
    if (record.name === 'bad') throw new Error('no luck')
    return `agent/${record.name}:1`
  })
  for (const name of ['good', 'bad']) await builds.receive((await create(name)).url, body('zip'), 3)
  const { spec, internal } = await settled('good', 'DEPLOYING')
  t.match(await said('good'), /^image "agent\/good:1" is built/)
  t.match(spec, { runtime: { image: 'agent/good:1' } })
  t.notOk('build' in internal)
  t.match(internal, { revisions: { all: [{ id: 'r1', spec: { runtime: { image: 'agent/good:1' } } }] } })
  await settled('bad', 'FAILED')
  t.equal(await said('bad'), 'no luck')
  for (let tries = 0; tries < 100 && kept().length > 0; tries++) await new Promise(resolve => setTimeout(resolve, 5))
  t.same(kept(), [])
})

t.test('a build that a stop has cut off begins anew; one whose record goes is ended', async t => {
  const begun: string[] = []
  const ended: string[] = []
  let hold = true
  const { store, move, engine, begin, builds, create, settled, kept } = await prepared(
    t,
    async ({ record, signal }) => {
      begun.push(record.name)
      if (hold) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      if (hold) ended.push(record.name)
      signal.throwIfAborted()
      return 'agent/x:1'
    },
  )
  await builds.receive((await create('cut')).url, body('zip'), 3)
  while (begun.length < 1) await new Promise(resolve => setTimeout(resolve, 5))
  await engine.close()
  t.equal((await store.resources.getByUid('cut'))?.status, 'BUILDING')
  t.equal(kept().length, 1, 'its archive is kept')
  hold = true
  const next = await begin()
  while (begun.length < 2) await new Promise(resolve => setTimeout(resolve, 5))
  await move.write([{ remove: (await store.resources.getByUid('cut')) as Resource }])
  while (ended.length < 2) await new Promise(resolve => setTimeout(resolve, 5))
  hold = false
  await builds.receive((await create('other')).url, body('zip'), 3)
  await settled('other', 'DEPLOYING')
  await next.close()
  t.same(begun, ['cut', 'cut', 'other'])
})
