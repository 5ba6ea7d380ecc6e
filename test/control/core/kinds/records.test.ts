/** Kinds whose records are kept and checked, and what each has that the others have not. */
import t from 'tap'
import type { CallOptions } from '../../../support/call.ts'
import { control, type TestControl } from '../../../support/control.ts'

const older = { headers: { 'svc-version': '2026-04-16' } }

t.test('a volume grows and never shrinks; pages show it in short, bare arrays as a whole', async t => {
  const { call } = await control(t)
  const made = await call('POST', '/volumes', { metadata: { name: 'data', externalId: 'x-1', labels: { a: 'b' } } })
  t.match(made, {
    status: 200,
    body: {
      spec: { size: 1024 },
      state: { attachedTo: '' },
      status: 'DEPLOYED',
      events: [{ message: 'volume data created' }],
    },
  })
  t.match(await call('PUT', '/volumes/data', { spec: { size: 1023 } }), {
    status: 400,
    body: { message: 'spec.size: cannot shrink from 1024 MB' },
  })
  t.match(await call('PUT', '/volumes/data', { spec: { size: 4096, region: 'local' } }), {
    status: 200,
    body: { spec: { size: 4096 } },
  })
  t.equal((await call('PUT', '/volumes/data', { spec: { region: 'other' } })).status, 400, 'a disk stays where it is')
  t.equal((await call('GET', '/volumes/by-external-id/x-1')).body.metadata.name, 'data')
  const [lite] = (await call('GET', '/volumes')).body.data
  t.same(Object.keys(lite).toSorted(), ['metadata', 'spec', 'state', 'status'])
  t.same(Object.keys(lite.metadata).toSorted(), ['createdAt', 'externalId', 'name', 'updatedAt'])
  t.match((await call('GET', '/volumes', undefined, older)).body, [{ metadata: { labels: { a: 'b' } }, events: Array }])
  t.match(
    (await call('POST', '/volumes', { metadata: { name: 'b' }, spec: { template: 'none:1' } })).body.message,
    /^spec.template/,
  )
  t.equal((await call('POST', '/volumes', { metadata: { name: 'b' }, spec: { template: 'no version' } })).status, 400)
  const agent = { metadata: { name: 'a' }, spec: { volumes: [{ name: 'data', mountPath: '/data' }] } }
  t.equal((await call('POST', '/agents', agent)).status, 200)
  t.match(
    await call('DELETE', '/volumes/data'),
    { status: 409, body: { error: 'in_use' } },
    'it stays while it is named',
  )
})

t.test('a drive is deleted with a message, takes three rules at most, and opens no object storage', async t => {
  const { call } = await control(t)
  const rules = (count: number) => ({
    metadata: { name: 'shared' },
    spec: { permissions: Array.from({ length: count }, () => ({ labels: { a: 'b' } })) },
  })
  t.match(await call('POST', '/drives', rules(4)), { status: 400, body: { message: /spec.permissions/ } })
  t.match((await call('POST', '/drives', rules(1))).body.spec.permissions, [
    { labels: { a: 'b' }, mode: 'read-write', path: '/' },
  ])
  t.equal((await call('POST', '/drives/shared/access-token')).status, 403)
  t.equal((await call('POST', '/drives/none/access-token')).status, 404)
  t.same((await call('GET', '/drives/jwks.json', undefined, { headers: { authorization: '' } })).body, { keys: [] })
  t.match(await call('DELETE', '/drives/shared'), { status: 200, body: { name: 'shared', message: String } })
  t.equal((await call('GET', '/drives/shared')).status, 404)
})

t.test('an application is what its first revision says, or what stands beside it', async t => {
  const { call } = await control(t)
  const path = '/applications/site'
  const envs = [{ name: 'KEY', value: 'hush', secret: true }]
  const made = await call('POST', '/applications', {
    metadata: { name: 'site' },
    spec: { revisions: [{ image: 'site:1', envs }] },
  })
  t.match(made, {
    status: 200,
    body: {
      spec: { image: 'site:1', memory: 2048, port: 8080, enabled: true, revisions: [{ image: 'site:1', port: 8080 }] },
    },
  })
  t.notMatch(made.text, /hush/)
  const back = await call('PUT', path, made.body)
  t.equal(back.body.spec.revisions.length, 1, 'what was answered, sent back, is no new revision')
  for (const image of ['site:2', 'site:3', 'site:4', 'site:5', 'site:6'])
    t.equal(
      (await call('PUT', path, { spec: { image, envs: [{ name: 'KEY', value: '***', secret: true }] } })).status,
      200,
    )
  const { body } = await call('GET', `${path}/revisions`)
  t.same(
    body.map(({ image }: { image: string }) => image),
    ['site:6', 'site:5', 'site:4', 'site:3', 'site:2'],
    'five are kept, newest first',
  )
  t.match(body[0], { id: String, createdBy: 'admin', envs: [{ name: 'KEY', value: '***' }] })
  t.notMatch(JSON.stringify([body, (await call('GET', path)).body]), /hush|sealed/)
  t.match(
    (await call('PUT', path, { spec: { urls: [{ domain: 'x.example.org' }] } })).body.message,
    /^spec.urls.0.domain/,
  )
  t.equal((await call('PUT', path, { spec: { extensions: { other: {} } } })).status, 400)
  const domain = { metadata: { name: 'apps.example.org' }, spec: { domainType: 'previews' } }
  t.match((await call('POST', `${path}/customdomains`, domain)).body.spec, {
    domainType: 'applications',
    status: 'pending',
  })
  t.equal((await call('GET', '/customdomains/apps.example.org')).status, 200)
  t.equal((await call('POST', `${path}/customdomains`, domain)).status, 409)
  t.equal((await call('POST', '/applications/none/customdomains', domain)).status, 404)
})

t.test('users are invited by an address, have a role, and leave with their keys', async t => {
  const { call, clock, addKey, store } = await control(t)
  t.match(await call('POST', '/users', { email: 'Ada@Example.com' }), {
    status: 200,
    body: {
      email: 'ada@example.com',
      role: 'member',
      workspace: 'default',
      invitedBy: 'admin',
      expiresAt: /^2026-01-08/,
    },
  })
  t.equal((await call('POST', '/users', { email: 'ADA@example.com' })).status, 409)
  for (const email of ['', 'ada', 'a@b', 'a b@example.com', '@example.com', 7])
    t.match(await call('POST', '/users', { email }), { status: 400, body: { message: /email/ } }, String(email))
  const listed = async () => (await call('GET', '/users')).body[0]
  const { sub } = await listed()
  t.match(await listed(), { email: 'ada@example.com', accepted: false, expired: false, source: 'invitation' })
  t.match(await call('PUT', '/users/ADA@example.com', { role: 'admin' }), { status: 200, body: { role: 'admin', sub } })
  t.match(await call('PUT', `/users/${sub}`, { role: 'owner' }), { status: 400, body: { message: /role/ } })
  await clock.jump(8 * 86_400_000)
  t.match(await listed(), { expired: true })
  t.equal((await call('PUT', '/users/nobody@example.com', { role: 'admin' })).status, 404)

  t.equal((await call('DELETE', '/workspaces/default/leave')).status, 404, 'a key of the account is no user')
  const authorization = `Bearer ${await addKey({ workspace: 'default', owner: sub })}`
  const as = { headers: { authorization } }
  t.equal((await call('DELETE', '/workspaces/other/leave', undefined, as)).status, 404)
  t.match(await call('DELETE', '/workspaces/default/leave', undefined, as), { status: 200, body: { name: 'default' } })
  t.equal((await call('GET', '/users', undefined, as)).status, 401, 'the key went with its user')
  t.equal(await store.resources.count('workspaceUser', 'default'), 0)

  await call('POST', '/users', { email: 'bob@example.com' })
  const member = { headers: { authorization: `Bearer ${await addKey({})}` } }
  for (const [method, path, body] of [
    ['POST', '/users', { email: 'eve@example.com' }],
    ['PUT', '/users/bob@example.com', { role: 'admin' }],
    ['DELETE', '/users/bob@example.com', undefined],
  ] as const)
    t.equal((await call(method, path, body, member)).status, 403, `${method} is for admins`)
  const gone = await call('DELETE', '/users/bob@example.com')
  t.match(gone, { status: 200, headers: { 'content-length': '0' }, text: '' })
  t.equal((await call('DELETE', '/users/bob@example.com')).status, 404)
})

const inWorkspace = (workspace: string): CallOptions => ({ headers: { 'x-svc-workspace': workspace } })

/** A verified domain of the default workspace. */
const verified = async (made: TestControl, txtRecords: Map<string, string[]>, name: string) => {
  const { body } = await made.call('POST', '/customdomains', { metadata: { name } }, inWorkspace('default'))
  for (const [record, value] of Object.entries(body.spec.txtRecords)) txtRecords.set(record, [value as string])
  return made.call('POST', `/customdomains/${name}/verify`, undefined, inWorkspace('default'))
}

t.test('a verified domain is shared with workspaces of the account, and is theirs to use only', async t => {
  const txtRecords = new Map<string, string[]>()
  const made = await control(t, { txtRecords })
  await made.addWorkspace('team')
  await made.addWorkspace('lab')
  await made.addWorkspace('theirs', 'rival')
  const call: typeof made.call = (method, target, body, options = inWorkspace('default')) =>
    made.call(method, target, body, options)
  const path = '/customdomains/apps.example.org'
  const to = (targetWorkspace: string) => call('POST', `${path}/share`, { targetWorkspace })
  await call('POST', '/customdomains', { metadata: { name: 'new.example.org' } })
  t.match(await call('POST', '/customdomains/new.example.org/share', { targetWorkspace: 'team' }), { status: 409 })
  await verified(made, txtRecords, 'apps.example.org')
  t.equal((await to('theirs')).status, 404, 'of another account')
  t.equal((await to('default')).status, 400)
  t.match(await to('team'), { status: 200, body: { spec: { status: 'verified' } } })
  t.equal((await to('team')).status, 409)
  t.same((await call('GET', `${path}/share`)).body, [
    { workspace: 'team', workspaceDisplayName: 'team', status: 'active' },
  ])
  t.match((await call('GET', path, undefined, inWorkspace('team'))).body, {
    metadata: { sharedFromWorkspace: 'default', workspace: 'team' },
    spec: { status: 'verified', sharedFromWorkspace: undefined },
  })
  for (const [method, at, body] of [
    ['PUT', path, { spec: { fallbackPreviewId: 'p' } }],
    ['POST', `${path}/verify`, undefined],
    ['POST', `${path}/share`, { targetWorkspace: 'lab' }],
  ] as const)
    t.match(await call(method, at, body, inWorkspace('team')), { status: 409 }, `${method} ${at} is its owner's`)
  t.match(await call('DELETE', path), { status: 409, body: { message: /workspace "team"/ } })

  await call('POST', '/sandboxes', { metadata: { name: 'web' } }, inWorkspace('team'))
  const preview = { metadata: { name: 'p' }, spec: { port: 3000, customDomain: 'apps.example.org' } }
  t.equal((await call('POST', '/sandboxes/web/previews', preview, inWorkspace('team'))).status, 200)
  t.match(await call('DELETE', `${path}/share/team`), { status: 409, body: { message: /preview "p"/ } })
  await call('DELETE', '/sandboxes/web/previews/p', undefined, inWorkspace('team'))
  t.equal((await to('account')).status, 200)
  t.same(
    (await call('GET', `${path}/share`)).body.map(({ workspace }: { workspace: string }) => workspace),
    ['lab', 'team'],
  )
  t.equal((await call('DELETE', `${path}/share/team`)).status, 200)
  t.equal((await call('GET', path, undefined, inWorkspace('team'))).status, 404)
  t.equal((await call('DELETE', `${path}/share/team`)).status, 404)
  t.equal((await call('DELETE', path, undefined, inWorkspace('lab'))).status, 200, 'a share can be given back')
  t.equal((await call('DELETE', path)).status, 200)
})

t.test('an image is shared at once within an account, and with another when it accepts in time', async t => {
  const made = await control(t)
  const { call, clock, addKey } = made
  await made.addWorkspace('team')
  await made.addWorkspace('theirs', 'rival')
  const ours = inWorkspace('default')
  const theirs: CallOptions = {
    headers: { authorization: `Bearer ${await addKey({ account: 'rival', workspace: 'theirs', role: 'admin' })}` },
  }
  const path = '/images/sandbox/base/share'
  t.equal((await call('POST', '/images/sandbox/none/share', { targetWorkspace: 'team' }, ours)).status, 404)
  t.match(await call('POST', path, { targetWorkspace: 'team' }, ours), {
    status: 200,
    body: { metadata: { name: 'base' } },
  })
  t.equal((await call('POST', path, { targetWorkspace: 'team' }, ours)).status, 409)
  t.equal((await call('POST', path, { targetWorkspace: 'theirs' }, ours)).status, 404, 'without its account')
  const rival = { targetWorkspace: 'theirs', targetAccountId: 'rival' }
  await clock.tick(1000)
  const asked = await call('POST', path, rival, ours)
  t.match(asked, { status: 202, body: { imageName: 'base', sourceWorkspace: 'default', expiresAt: /^2026-01-08/ } })
  t.match((await call('GET', path, undefined, ours)).body, [
    { workspace: 'theirs', accountId: 'rival', status: 'pending', pendingShareId: asked.body.id },
    { workspace: 'team', status: 'active' },
  ])
  t.match((await call('GET', '/pending-image-shares', undefined, theirs)).body, [{ id: asked.body.id }])
  t.same((await call('GET', '/pending-image-shares', undefined, ours)).body, [])
  t.match((await call('GET', '/pending-image-shares?direction=outgoing', undefined, ours)).body, [
    { id: asked.body.id },
  ])
  const answer = (verb: string, as = theirs, id = asked.body.id) =>
    call('POST', `/pending-image-shares/${id}/${verb}`, undefined, as)
  t.equal((await answer('accept', ours)).status, 404, 'not by whoever asked')
  t.match(await answer('accept'), { status: 200, body: { metadata: { name: 'base' } } })
  t.equal((await answer('accept')).status, 404, 'once')
  t.match((await call('GET', path, undefined, ours)).body, [{ status: 'active' }, { status: 'active' }])
  t.equal((await call('DELETE', `${path}/theirs`, undefined, ours)).status, 200)
  t.equal((await call('DELETE', `${path}/theirs`, undefined, ours)).status, 404)
  const second = await call('POST', path, rival, ours)
  const declined = await answer('decline', theirs, second.body.id)
  t.match(declined, { status: 204, text: '' })
  const third = await call('POST', path, rival, ours)
  await clock.jump(8 * 86_400_000)
  t.match(await answer('accept', theirs, third.body.id), { status: 410, body: { error: 'expired' } })
  const member = { headers: { authorization: `Bearer ${await addKey({ workspace: 'default' })}` } }
  t.equal((await call('POST', path, { targetWorkspace: 'team' }, member)).status, 403)
})

t.test("extensions and labels have a vendor's prefix as well as ours", async t => {
  const acme = { header: 'Acme', short: 'ac', image: 'ac', label: 'io.acme/', extension: 'com.acme.' }
  const { call } = await control(t, { wireNames: [{ header: 'Svc', short: 'svc', image: 'svc' }, acme] })
  const make = (name: string, key: string) =>
    call('POST', '/applications', {
      metadata: { name },
      spec: { image: 'a:1', extensions: { [key]: { sandbox: 'x' } } },
    })
  for (const [at, prefix] of ['ai.svc.', 'com.acme.'].entries()) {
    const key = `${prefix}experimental/bind-to-sandbox`
    t.match(await make(`app-${at}`, key), { status: 200, body: { spec: { extensions: { [key]: { sandbox: 'x' } } } } })
  }
  t.match(await make('other', 'ai.other.experimental/bind-to-sandbox'), { status: 400 })
  t.match(await make('dots', 'comXacme.experimental/bind-to-sandbox'), { status: 400 })
  t.ok((await call('GET', '/openapi.json')).text.includes(String.raw`com\\.acme\\.`), 'the document says so')

  const labels = { 'x-svc-auto-generated': 'true', 'io.acme/team': 'a', 'x-acme-team': 'b', team: 'c' }
  const labelled = await call('PUT', '/applications/app-0', { metadata: { labels } })
  t.match(labelled.body, { metadata: { labels } }, 'all are kept')
  t.equal(
    labelled.headers['x-acme-warnings'],
    '"metadata.labels.x-svc-auto-generated has no effect", "metadata.labels.io.acme/team has no effect"',
  )
})
