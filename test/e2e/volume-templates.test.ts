/** Volume templates on a real host: what is uploaded is what a volume begins with. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import t from 'tap'
import { createHost } from '../../control/host/host.ts'
import { configOf } from '../../control/library/options.ts'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'
import { whyNoMachines } from '../support/machine.ts'
import { scratchInstance, type Answer } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { until } from '../support/until.ts'

skipFile(whyNoMachines())

const tarOf = (files: Record<string, string>): Readable => {
  const tar = pack()
  for (const [name, text] of Object.entries(files)) tar.entry({ name }, text)
  tar.finalize()
  return Readable.from(tar)
}

t.test('versions of a template become volumes, and outlive it there', async t => {
  const { dataDir } = scratchInstance(t)
  const deps = { clock: systemClock(), ids: randomIds(), log: silentLog }
  const host = await createHost(configOf({ dataDir, port: 0, driver: 'oci' }), deps)
  t.teardown(host.close)
  const { url } = await host.listen()
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${host.first.adminKey}`, 'svc-version': '2026-04-28' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: answer.status, body: (await answer.json()) as Answer['body'] }
  }
  const uidOf = async (name: string): Promise<string> =>
    (await host.store.resources.get({ kind: 'volumeTemplate', workspace: 'default', parent: '', name }))?.uid ?? ''
  const run = async (name: string, command: string) =>
    (await call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body.stdout
  const at = '/v0/volume_templates/dataset'

  t.match((await call('PUT', at, { spec: { defaultSize: 48 } })).body, {
    state: { status: 'created', versionCount: 0 },
    versions: [],
  })
  const uid = await uidOf('dataset')
  await t.rejects(host.templates.take({ uid, stream: Readable.from(['no tar']) }), { code: 'invalid_argument' })
  t.match((await call('GET', at)).body.state, { status: 'error', versionCount: 0 })
  await host.templates.take({ uid, stream: tarOf({ 'a/one': 'first' }) })
  await host.templates.take({ uid, stream: tarOf({ 'a/one': 'second', large: 'x'.repeat(30 * 2 ** 20) }) })
  t.match((await call('GET', at)).body, {
    state: { status: 'ready', versionCount: 2, latestVersion: '2', lastVersionUploadedAt: String },
    versions: [
      { name: '1', templateName: 'dataset', contentSize: 5, status: 'READY' },
      { name: '2', status: 'READY' },
    ],
  })

  const volume = (name: string, spec: object) => call('POST', '/v0/volumes', { metadata: { name }, spec })
  t.match(await volume('small', { template: 'dataset:latest', size: 16 }), {
    status: 400,
    body: { message: /spec.size: must be at least \d+ MB to hold what is in dataset:2/ },
  })
  t.match(await volume('none', { template: 'dataset:3' }), { status: 400, body: { message: /no version "3"/ } })
  t.match(await volume('old', { template: 'dataset:1' }), { status: 200, body: { spec: { size: 48 } } })
  t.match(await volume('new', { template: 'dataset:latest' }), {
    status: 200,
    body: { spec: { template: 'dataset:2' } },
  })
  const deployed = (name: string) => async () => {
    const { body } = await call('GET', `/v0/volumes/${name}`)
    if (body.status === 'FAILED') throw new Error(JSON.stringify(body.events))
    return body.status === 'DEPLOYED'
  }
  const image = { runtime: { image: 'busybox', memory: 256 } }
  const attach = (name: string) =>
    call('POST', '/v0/sandboxes', {
      metadata: { name },
      spec: { ...image, volumes: [{ name, mountPath: '/data' }] },
    })
  for (const name of ['old', 'new']) {
    t.equal((await attach(name)).status, 200, 'also before it is filled')
    await until(deployed(name), `${name} to be filled`)
  }
  t.equal(await run('old', 'cat /data/a/one; ls /data'), 'firsta\n')
  t.equal(
    await run('new', 'cat /data/a/one; wc -c < /data/large; stat -c %u:%g:%a /data/a'),
    'second31457280\n0:0:755\n',
  )
  await run('old', 'echo changed > /data/a/one')

  t.equal((await call('DELETE', `${at}/versions/9`)).status, 404)
  t.match(await call('DELETE', `${at}/versions/1`), {
    status: 200,
    body: { message: /1/, template: { versions: [{ name: '2' }] } },
  })
  t.match(await call('DELETE', `${at}/versions/2`), { status: 400, body: { message: /last version/ } })
  const files = () => readdirSync(join(dataDir, 'templates', uid))
  await until(async () => files().length === 1, 'the files of version 1 to go')
  t.equal((await call('DELETE', at)).status, 200, 'also while volumes were made of it')
  await until(async () => readdirSync(join(dataDir, 'templates')).length === 0, 'its files to go')
  t.equal(await run('new', 'cat /data/a/one'), 'second', 'volumes keep what they have')
  for (const name of ['old', 'new']) await call('DELETE', `/v0/sandboxes/${name}`)
  await until(async () => (await call('GET', '/v0/volumes/new')).body.state.attachedTo === '', 'the sandboxes to go')
})
