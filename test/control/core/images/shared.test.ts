/** What a share of an image opens: the other workspace makes sandboxes of it without credentials of its own, as long as it is shared. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashKey } from '../../../../control/core/access/keys.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { call } from '../../../support/call.ts'
import { login, registry, registryBinary } from '../../../support/registry.ts'
import { testHost, type TestHost } from '../../../support/whole-host.ts'

const found = registryBinary()
if (!found || process.getuid?.() !== 0) {
  const why = found ? 'needs root' : 'needs docker-registry'
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}
const binary = found

type Api = TestHost['api']

/** A host with a registry that only workspace "default" signs in to; "team" is of its account, "theirs" of another. */
const hostWithRegistry = async (t: Test) => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-registry-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const r = await registry(t, binary, dir)
  r.push('team/app:1', rootfs => writeFileSync(join(rootfs, 'one'), ''))
  r.push('team/app:2', rootfs => writeFileSync(join(rootfs, 'two'), ''))
  const registries = [{ host: 'localhost', port: Number(r.host.split(':')[1]), plain: false }]
  const { host, api, until } = await testHost(t, { config: { registries, caFile: r.caFile } })
  const name = `${r.host}/team/app`
  const signIn = { metadata: { name: r.host }, spec: { credentials: { ...login } } }
  t.equal((await api('POST', '/workspaces', { name: 'team' })).status, 200)
  t.equal((await api('POST', '/registries', signIn)).status, 200)
  const authorization = `Bearer ${await otherAccount(host)}`
  const rival: Api = (method, target, body) =>
    call(host.api, method, `/v0${target}`, { body, headers: { authorization, 'svc-version': '2026-04-28' } })
  return {
    host,
    api,
    until,
    rival,
    name,
    registry: signIn,
    reference: `${name}:1`,
    image: `/images/_/${encodeURIComponent(name)}`,
    share: (workspace: string, targetWorkspace: string) =>
      api('POST', `/images/_/${encodeURIComponent(name)}/share?workspace=${workspace}`, { targetWorkspace }),
    /** What becomes of a sandbox of that tag. */
    async made(workspace: string, sandbox: string, tag = '1', as = api): Promise<string> {
      const body = { metadata: { name: sandbox }, spec: { runtime: { image: `${name}:${tag}` } } }
      const answer = await as('POST', `/sandboxes?workspace=${workspace}`, body)
      if (answer.status !== 200) throw new Error(answer.text)
      for (;;) {
        const { body: now } = await as('GET', `/sandboxes/${sandbox}?workspace=${workspace}`)
        if (now.status !== 'DEPLOYING') return now.status
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
  }
}

/** Account "rival" with workspace "theirs"; resolves with a key of its admin. */
const otherAccount = async ({ store: { tenants } }: TestHost['host']): Promise<string> => {
  const ids = randomIds()
  const secret = ids.secret(24)
  await tenants.addAccount({ id: 'rival', displayName: 'rival', createdAt: 1 })
  await tenants.addWorkspace({ id: ids.uuid(), name: 'theirs', account: 'rival', displayName: 'theirs', createdAt: 1 })
  await tenants.addApiKey({
    id: ids.uuid(),
    hash: hashKey(secret),
    name: 'rival',
    account: 'rival',
    workspace: 'theirs',
    role: 'admin',
    accountAdmin: false,
    createdAt: 1,
    expiresAt: null,
    scopes: null,
    owner: null,
    person: { sub: 'rival', label: '', expiresIn: '' },
    defaultWorkspace: null,
  })
  return secret
}

t.test('a shared image is for the other workspace to use, not to pass on, and not for ever', async t => {
  const { made, api, share, image, name, until } = await hostWithRegistry(t)
  t.equal(await made('default', 'ours'), 'DEPLOYED')
  t.equal(await made('team', 'early'), 'FAILED', 'the registry shows it to nobody without credentials')

  t.equal((await share('default', 'team')).status, 200)
  t.match((await api('GET', `${image}?workspace=team`)).body, {
    metadata: { name, workspace: 'team', sourceWorkspace: 'default' },
    spec: { tags: [{ name: '1' }] },
  })
  t.equal(await made('team', 'theirs'), 'DEPLOYED')
  t.equal(await made('team', 'untold', '2'), 'FAILED', 'what the source has not pulled is not shared')
  t.equal(await made('default', 'newer', '2'), 'DEPLOYED')
  t.equal(await made('team', 'newer', '2'), 'DEPLOYED', 'a new tag is shared as well')

  t.match(await share('team', 'default'), { status: 400, body: { message: /belongs to workspace "default"/ } })
  t.match(await api('DELETE', `${image}?workspace=team`), { status: 400, body: { message: /"default" shares it/ } })
  for (const sandbox of ['ours', 'newer']) {
    await api('DELETE', `/sandboxes/${sandbox}`)
    await until(sandbox, 'TERMINATED')
  }
  t.match(await api('DELETE', image), { status: 400, body: { message: /end its shares first/ } })
  t.match(await api('DELETE', `${image}/tags/1`), { status: 400, body: { message: /end its shares first/ } })
  t.match((await api('DELETE', '/images')).body, { deleted: 0 }, 'what is shared is in use')

  t.equal((await api('DELETE', `${image}/share/team`)).status, 200)
  const left = (await api('GET', `${image}?workspace=team`)).body
  t.match(left, { metadata: { status: 'FAILED' } }, 'only its own attempt is left')
  t.notOk(Object.hasOwn(left.metadata, 'sourceWorkspace'))
  t.equal(await made('team', 'late'), 'FAILED', 'a share that is over opens nothing')
  t.match((await api('GET', '/sandboxes/theirs?workspace=team')).body, { status: 'DEPLOYED' }, 'what runs runs on')
  t.equal((await api('DELETE', image)).status, 200)
})

t.test('where both have the image: refused, or with force in the place of what was pulled', async t => {
  const { made, api, share, registry, image, reference, rival, host } = await hostWithRegistry(t)
  for (const workspace of ['default', 'team']) {
    if (workspace === 'team') await api('POST', '/registries?workspace=team', registry)
    t.equal(await made(workspace, 'one'), 'DEPLOYED')
  }
  t.match(await share('default', 'team'), { status: 409, body: { message: /app:1" already exists/ } })
  await rival('POST', '/registries', registry)
  t.equal(await made('theirs', 'one', '1', rival), 'DEPLOYED')
  const asked = await api('POST', `${image}/share`, { targetWorkspace: 'theirs', targetAccountId: 'rival' })
  t.match(asked, { status: 202, body: { hasConflict: true } })
  const accept = `/pending-image-shares/${asked.body.id}/accept`
  t.match(await rival('POST', accept), { status: 409, body: { message: /app:1" already exists/ } })
  t.same(
    (await host.images.pulling.list('theirs')).map(one => one.reference),
    [reference],
  )
  t.equal((await rival('POST', `${accept}?force=true`)).status, 200)
  t.same(await host.images.pulling.list('theirs'), [], 'what was pulled made room')
  t.match((await rival('GET', image)).body, { metadata: { sourceWorkspace: 'default' } })
  t.equal(await made('theirs', 'two', '1', rival), 'DEPLOYED')
})
