/** Domains of customers' own: what DNS has to say before one is theirs, and which preview its names lead to. */
import t, { type Test } from 'tap'
import { createDns } from '../../../../../control/base/dns.ts'
import { call } from '../../../../support/call.ts'
import { dnsServer } from '../../../../support/dns-server.ts'
import { previewHost } from '../../../../support/previews.ts'

const ready = async (t: Test) => {
  const dns = await dnsServer(t)
  const s = await previewHost(t, { config: { dnsResolvers: [dns], publicUrl: 'http://hutch.test' } })
  const make = async (name: string, spec: object = {}) =>
    (await s.api('POST', '/customdomains', { metadata: { name }, spec })).body
  const verify = (name: string) => s.api('POST', `/customdomains/${name}/verify`)
  const prove = (domain: { spec: { txtRecords: Record<string, string> } }, more: string[] = []) => {
    for (const [at, value] of Object.entries(domain.spec.txtRecords)) dns.names.set(at, { TXT: [...more, value] })
  }
  const verified = async (name: string) => {
    prove(await make(name))
    dns.names.set(`*.${name}`, { CNAME: 'hutch.test' })
    return (await verify(name)).body
  }
  const previewOn = async (name: string, spec: object) =>
    s.api('POST', '/sandboxes/web/previews', { metadata: { name }, spec: { port: s.appPort, public: true, ...spec } })
  const addWorkspace = (name: string) => s.api('POST', '/workspaces', { name })
  const inTeam = (method: string, target: string, body?: unknown) =>
    call(s.host.api, method, `/v0${target}`, {
      body,
      headers: { authorization: `Bearer ${s.host.first.adminKey}`, 'x-svc-workspace': 'team' },
    })
  return { ...s, addWorkspace, inTeam, dns, make, verify, prove, verified, previewOn }
}

t.test('what DNS says', async t => {
  const server = await dnsServer(t)
  const dns = createDns([server])
  server.names.set('a.example', { TXT: ['one', 'two'] })
  t.same(await dns.txt('a.example'), ['one', 'two'])
  t.same(await dns.txt('none.example'), [])
  server.names.set('*.w.example', { CNAME: 'alias.example' }).set('alias.example', { CNAME: 'Target.example.' })
  server.names.set('target.example', { A: ['192.0.2.1', '192.0.2.2'] }).set('flat.example', { A: ['192.0.2.2'] })
  server.names.set('other.example', { A: ['192.0.2.9'] }).set('loop.example', { CNAME: 'loop.example' })
  t.equal(await dns.leadsTo('*.w.example', 'target.example'), true, 'alias of an alias')
  t.equal(await dns.leadsTo('*.a.example', 'target.example'), false)
  t.equal(await dns.leadsTo('flat.example', 'target.example'), true, 'an address in place of a CNAME')
  t.equal(await dns.leadsTo('other.example', 'target.example'), false)
  t.equal(await dns.leadsTo('loop.example', 'target.example'), false)
  t.equal(await dns.leadsTo('flat.example', '192.0.2.2'), true)
  server.silent = true
  const cut = createDns([server], 50)
  await t.rejects(cut.txt('a.example'), { code: 'unavailable', message: /a\.example/ })
})

t.test('a domain is verified by both records, and never taken away by a look that fails', async t => {
  const { make, verify, prove, dns, addWorkspace, inTeam } = await ready(t)
  const domain = await make('apps.example.org')
  t.match(domain.spec, { status: 'pending', cnameRecords: 'hutch.test' })
  t.match((await verify('apps.example.org')).body.spec, { status: 'failed', verificationError: /no TXT record/ })
  prove(domain, ['v=spf1'])
  t.match((await verify('apps.example.org')).body.spec, {
    status: 'failed',
    verificationError: '*.apps.example.org does not lead to hutch.test: it needs a CNAME record',
  })
  dns.names.set('*.apps.example.org', { CNAME: 'hutch.test' })
  t.match((await verify('apps.example.org')).body.spec, { status: 'verified', verificationError: undefined })
  dns.names.clear()
  t.match((await verify('apps.example.org')).body.spec, { status: 'verified', verificationError: /no TXT record/ })
  const shop = await make('shop.example.org', { domainType: 'applications' })
  prove(shop)
  t.match((await verify('shop.example.org')).body.spec.verificationError, /^shop\.example\.org does not lead/)
  dns.names.set('shop.example.org', { CNAME: 'hutch.test' })
  t.match((await verify('shop.example.org')).body.spec, { status: 'verified' })
  await addWorkspace('team')
  const theirs = (await inTeam('POST', '/customdomains', { metadata: { name: 'apps.example.org' } })).body
  prove(theirs)
  dns.names.set('*.apps.example.org', { CNAME: 'hutch.test' })
  t.match(await inTeam('POST', '/customdomains/apps.example.org/verify'), { status: 409 }, 'its requests have an owner')
})

t.test('names of a verified domain lead to its previews', async t => {
  const s = await ready(t)
  const { previewOn, get, verified } = s
  t.equal((await get('app.apps.example.org', '/x')).status, 404)
  t.match(await previewOn('app', { customDomain: 'apps.example.org' }), { status: 400 }, 'no such domain')
  await verified('apps.example.org')
  const own = await previewOn('app', { customDomain: 'apps.example.org' })
  t.equal(own.body.spec.url, 'http://app.apps.example.org')
  const seen = await get('App.apps.example.org:80', '/v0/x?y')
  t.match(seen, { status: 200, body: { url: '/v0/x?y', headers: { host: `localhost:${s.appPort}` } } })
  t.notMatch(seen.headers, { 'content-security-policy': /sandbox/ }, 'an origin of its own')
  const prefixed = await previewOn('second', { customDomain: 'apps.example.org', prefixUrl: 'shop' })
  t.equal(prefixed.body.spec.url, 'http://shop.apps.example.org')
  t.equal((await get('shop.apps.example.org', '/')).status, 200)
  t.equal((await get('second.apps.example.org', '/')).status, 404, 'the prefix takes the place of the name')
  t.match(await previewOn('third', { customDomain: 'apps.example.org', prefixUrl: 'shop' }), { status: 409 })
  t.equal((await get('nobody.apps.example.org', '/')).status, 404)
  t.equal((await get('apps.example.org', '/')).status, 404, 'nothing stands at the domain itself')

  const { host } = await s.preview('plain')
  const id = host.split('.')[0] as string
  t.equal((await get(`${id}.preview.apps.example.org`, '/')).status, 404, 'a preview that does not have the domain')
  await s.api('PUT', '/sandboxes/web/previews/plain', {
    spec: { port: s.appPort, public: true, customDomain: 'apps.example.org' },
  })
  t.equal((await get(`${id}.preview.apps.example.org`, '/')).status, 200)
  const token = await previewOn('closed', { customDomain: 'apps.example.org', public: false })
  t.equal(token.status, 200)
  t.equal((await get('closed.apps.example.org', '/')).status, 401)
  await s.api('DELETE', '/sandboxes/web/previews/app')
  t.equal((await get('app.apps.example.org', '/')).status, 404)
})

t.test('a fallback stands for names that no preview has, and says for which', async t => {
  const s = await ready(t)
  const { verified, previewOn, get, api } = s
  await verified('apps.example.org')
  const { host } = await s.preview('stand-in')
  const [fallbackPreviewId = ''] = host.split('.')
  await previewOn('app', { customDomain: 'apps.example.org' })
  await api('PUT', '/customdomains/apps.example.org', { spec: { fallbackPreviewId } })
  const forged = { 'x-svc-fallback': 'me', 'x-svc-fallback-preview': 'me', 'x-svc-fallback-domain': 'me' }
  const fell = await get('what.ever.apps.example.org', '/a', forged)
  t.match(fell.body, {
    url: '/a',
    headers: {
      'x-svc-fallback': 'true',
      'x-svc-fallback-preview': 'what.ever',
      'x-svc-fallback-domain': 'apps.example.org',
    },
  })
  t.match((await get('apps.example.org', '/')).body.headers, { 'x-svc-fallback-preview': '' })
  for (const one of ['app.apps.example.org', host]) {
    const plain = await get(one, '/', forged)
    t.equal(plain.status, 200)
    for (const name of Object.keys(forged))
      t.equal(Object.hasOwn(plain.body.headers, name), false, 'what a client says of it is nothing')
  }
  await api('DELETE', '/sandboxes/web/previews/stand-in')
  t.equal((await get('x.apps.example.org', '/')).status, 404)
  await api('PUT', '/customdomains/apps.example.org', { spec: { fallbackPreviewId: '' } })
  t.equal((await get('x.apps.example.org', '/')).status, 404)
})

t.test('a shared domain leads to the previews of those it is shared with, and each name to one only', async t => {
  const s = await ready(t)
  const { verified, previewOn, get, api, addWorkspace, inTeam } = s
  await verified('apps.example.org')
  await addWorkspace('team')
  await inTeam('POST', '/sandboxes', { metadata: { name: 'web' }, spec: { runtime: { image: 'busybox' } } })
  const theirs = (name: string) =>
    inTeam('POST', '/sandboxes/web/previews', {
      metadata: { name },
      spec: { port: s.appPort, public: true, customDomain: 'apps.example.org' },
    })
  t.equal((await theirs('app')).status, 400, 'not shared yet')
  t.equal((await api('POST', '/customdomains/apps.example.org/share', { targetWorkspace: 'team' })).status, 200)
  t.equal((await theirs('app')).status, 200)
  t.equal((await get('app.apps.example.org', '/')).status, 200)
  t.match(await previewOn('app', { customDomain: 'apps.example.org' }), { status: 409 }, 'a name of another workspace')
  const forced = { metadata: { name: 'app' }, spec: { port: s.appPort, customDomain: 'apps.example.org' } }
  t.match(await api('POST', '/sandboxes/web/previews?force=true', forced), { status: 409 }, 'nor by force')
  t.equal((await previewOn('ours', { customDomain: 'apps.example.org' })).status, 200)
  t.equal((await theirs('ours')).status, 409)
})
