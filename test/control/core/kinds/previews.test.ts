/** Previews inside sandboxes, tokens inside previews, and the domains they may have. */
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'

const preview = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { port: 3000, ...spec } })

const ready = async ({ call }: TestControl) => {
  await call('POST', '/sandboxes', { metadata: { name: 'web' } })
  await call('POST', '/sandboxes/web/previews', preview('app'))
}

t.test('metadata of previews and tokens name what they are inside', async t => {
  const made = await control(t)
  const { call } = made
  await ready(made)
  const { metadata, status, spec } = (await call('GET', '/sandboxes/web/previews/app')).body
  t.match(metadata, { name: 'app', resourceName: 'web', resourceType: 'sandbox', workspace: 'default' })
  t.equal(Object.hasOwn(metadata, 'externalId'), false)
  t.same(spec, { port: 3000, public: false, region: 'local', url: 'http://run.test/default/preview/app' })
  t.equal(status, 'DEPLOYED')
  const token = (await call('POST', '/sandboxes/web/previews/app/tokens', { metadata: { name: 'guest' } })).body
  t.same(token.metadata, {
    name: 'guest',
    previewName: 'app',
    resourceName: 'web',
    resourceType: 'sandbox',
    workspace: 'default',
  })
  t.match(token.spec, { token: /^[A-Za-z0-9_-]{20,}$/, expired: false })
})

t.test('names of tokens may repeat; each is deleted by its name or by itself, with a message', async t => {
  const made = await control(t)
  const { call, clock, store } = made
  await ready(made)
  const path = '/sandboxes/web/previews/app/tokens'
  const many = await Promise.all(
    Array.from({ length: 15 }, () =>
      call('POST', path, { metadata: { name: 'same' }, spec: { expiresAt: '2026-01-01T01:00:00Z' } }),
    ),
  )
  const tokens = new Set(many.map(({ body }) => body.spec.token))
  t.equal(tokens.size, 15)
  const listed = (await call('GET', path)).body
  t.same(new Set(listed.map((item: { spec: { token: string } }) => item.spec.token)), tokens, 'all are listed, in full')
  const [first] = [...tokens]
  t.match(await call('DELETE', `${path}/${first}`), { status: 200, body: { message: 'token same deleted' } })
  t.match(await call('DELETE', `${path}/same`), { status: 200, body: { message: String } })
  t.equal((await call('GET', path)).body.length, 13)
  t.equal((await call('DELETE', `${path}/${first}`)).status, 404)
  await clock.tick(3_600_000)
  t.match((await call('GET', path)).body[0].spec, { expired: true, expiresAt: '2026-01-01T01:00:00Z' })
  const kept = await store.resources.list({ kind: 'previewToken', workspace: 'default', sort: 'name:asc', limit: 50 })
  for (const token of tokens) t.notOk(JSON.stringify(kept).includes(token), 'none is kept as it is')
  t.equal((await call('GET', `${path}/same`)).status, 405)
})

t.test('what is inside goes with what it is inside of', async t => {
  const made = await control(t)
  const { call, store } = made
  await ready(made)
  await call('POST', '/sandboxes/web/previews/app/tokens', { metadata: { name: 'guest' } })
  t.match(await call('DELETE', '/sandboxes/web/previews/app'), { status: 200, body: { status: 'DELETING' } })
  t.equal((await call('GET', '/sandboxes/web/previews/app')).status, 404)
  t.equal(await store.resources.count('previewToken', 'default'), 0)
  await call('POST', '/sandboxes/web/previews', preview('app'))
  await call('POST', '/sandboxes/web/previews/app/tokens', { metadata: { name: 'guest' } })
  await call('DELETE', '/sandboxes/web')
  t.equal(await store.resources.count('preview', 'default'), 0)
  t.equal(await store.resources.count('previewToken', 'default'), 0)
})

t.test('what makes no sense is refused by its field', async t => {
  const made = await control(t)
  const { call } = made
  await ready(made)
  const wrong = async (spec: object) => {
    const { status, body } = await call('POST', '/sandboxes/web/previews', { metadata: { name: 'x' }, spec })
    return `${status} ${body.message}`
  }
  t.match(await wrong({}), /^400 spec.port: is missing/)
  t.match(await wrong({ port: 80 }), /^400 .*spec.port: must not be 80/)
  t.match(await wrong({ port: 70_000 }), /^400 .*spec.port/)
  t.match(await wrong({ port: 1, prefixUrl: 'a.b' }), /^400 .*spec.prefixUrl/)
  t.match(await wrong({ port: 1, ttl: 'soon' }), /^400 .*spec.ttl/)
  t.match(await wrong({ port: 1, expires: 'soon' }), /^400 .*spec.expires/)
  t.match(await wrong({ port: 1, responseHeaders: { a: 1 } }), /^400 .*spec.responseHeaders.a/)
  for (const [name, value] of [
    ['a b', 'x'],
    ['X-A', 'x\r\nX-B: y'],
    ['Content-Length', '1'],
    ['transfer-encoding', 'chunked'],
  ] as const)
    for (const member of ['requestHeaders', 'responseHeaders'])
      t.match(await wrong({ port: 1, [member]: { [name]: value } }), new RegExp(`^400 spec.${member}.`), name)
  t.match(
    await wrong({ port: 1, customDomain: 'example.org' }),
    /^400 spec.customDomain: customDomain "example.org" not found/,
  )
})

t.test('a domain is pending until its proof is found; a preview has it from then on', async t => {
  const txtRecords = new Map<string, string[]>()
  const made = await control(t, { txtRecords })
  const { call, clock } = made
  await ready(made)
  const name = 'apps.example.org'
  const domain = (
    await call('POST', '/customdomains', { metadata: { name, externalId: 'what it has not, is not looked at' } })
  ).body
  t.match(domain.metadata, { name, externalId: undefined, plan: undefined })
  t.match(domain.spec, { status: 'pending', domainType: 'previews', cnameRecords: 'run.test' })
  t.equal(Object.hasOwn(domain, 'status'), false)
  const cleared = await call('PUT', `/customdomains/${name}`, { spec: { domainType: null } })
  t.match(cleared.body.spec, { domainType: 'previews' }, 'null is what holds unless given')
  const [[record, value]] = Object.entries(domain.spec.txtRecords) as [[string, string]]
  const withDomain = preview('own', { customDomain: name })
  t.match((await call('POST', '/sandboxes/web/previews', withDomain)).body.message, /spec.customDomain: .*is pending/)
  const verify = async () => (await call('POST', `/customdomains/${name}/verify`)).body.spec
  t.match(await verify(), { status: 'failed', verificationError: new RegExp(record), lastVerifiedAt: undefined })
  txtRecords.set(record, ['v=spf1', value])
  await clock.tick(1000)
  t.match(await verify(), {
    status: 'verified',
    lastVerifiedAt: '2026-01-01T00:00:01.000Z',
    verificationError: undefined,
  })
  t.equal((await call('POST', '/sandboxes/web/previews', withDomain)).status, 200)
  txtRecords.clear()
  t.match(await verify(), { status: 'verified', verificationError: String }, 'a later failure takes nothing away')
  t.match(await call('DELETE', `/customdomains/${name}`), { status: 409, body: { message: /preview "own"/ } })
  const kept = await call('PUT', `/customdomains/${name}`, {
    spec: { fallbackPreviewId: 'p', txtRecords: {}, status: 'x' },
  })
  t.match(kept.body.spec, { status: 'verified', txtRecords: domain.spec.txtRecords, fallbackPreviewId: 'p' })
  await call('DELETE', '/sandboxes/web/previews/own')
  t.match(await call('DELETE', `/customdomains/${name}`), { status: 200, body: { spec: { status: 'verified' } } })
})

t.test('an address is one preview’s; force gives it to another', async t => {
  const made = await control(t)
  const { call } = made
  await ready(made)
  const path = '/sandboxes/web/previews'
  t.equal((await call('POST', path, preview('one', { prefixUrl: 'shop' }))).status, 200)
  t.match(await call('POST', path, preview('two', { prefixUrl: 'shop' })), {
    status: 409,
    body: { code: 409, message: 'preview at "shop" already exists' },
  })
  t.equal((await call('PUT', `${path}/app`, { spec: { prefixUrl: 'shop' } })).status, 409)
  const answers = await Promise.all(
    ['a', 'b', 'c'].map(name => call('POST', path, preview(name, { prefixUrl: 'new' }))),
  )
  t.same(answers.map(({ status }) => status).toSorted(), [200, 409, 409], 'of many at once one wins')
  t.equal((await call('POST', `${path}?force=true`, preview('two', { prefixUrl: 'shop' }))).status, 200)
  t.equal((await call('GET', `${path}/one`)).status, 404)
  t.equal((await call('PUT', `${path}/two`, { spec: { prefixUrl: 'other' } })).status, 200, 'and can be given up')
  t.equal((await call('POST', path, preview('one', { prefixUrl: 'shop' }))).status, 200)
})

t.test('names of domains', async t => {
  const { call } = await control(t)
  for (const name of [
    'localhost',
    'a..b',
    '-a.example.org',
    'A.example.org',
    `${'a.'.repeat(130)}org`,
    '*.example.org',
    '../x.y',
  ])
    t.match(await call('POST', '/customdomains', { metadata: { name } }), { status: 400 }, name)
  const long = `${'a'.repeat(60)}.example.org`
  t.match(await call('POST', '/customdomains', { metadata: { name: long } }), { status: 200 })
  t.equal((await call('GET', `/customdomains/${long}`)).status, 200)
})
