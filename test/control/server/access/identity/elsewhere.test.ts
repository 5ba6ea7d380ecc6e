/** Sign-in with the operator's provider, against a second one: who comes in, and what an attacker in between cannot do. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SignInConfig } from '../../../../../control/base/config/sign-in.ts'
import { unbindPerson } from '../../../../../control/server/access/identity/operator.ts'
import type { WritableStore } from '../../../../../control/core/store/store.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { randomIds } from '../../../../../shared/ids.ts'
import { freePort } from '../../../../support/free-port.ts'
import { otherProvider, secret } from '../../../../support/other-provider.ts'
import { ada, authorizeUrl, browser, hostWithAdmin, verifierFor, type Browser } from '../../../../support/sign-in.ts'

// Every sign-in is a dozen requests and a password.
t.setTimeout(240_000)

const opened = async (t: Test, given: Partial<SignInConfig> = {}) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await otherProvider(t, `${url}/v0/oauth/callback`)
  const secretFile = join(t.testdir(), 'secret')
  writeFileSync(secretFile, `${secret}\n`)
  const signIn = {
    issuer: provider.issuer,
    clientId: 'hutch',
    secretFile,
    name: 'Work',
    domains: [],
    join: [],
    ...given,
  }
  return { provider, ...(await hostWithAdmin(t, { port, signIn })) }
}

const asked = (person: Browser, url: string) => {
  const { challenge } = verifierFor()
  return person.open(authorizeUrl(url, { code_challenge: challenge, code_challenge_method: 'S256' }))
}

/** Another site's address, followed by hand: its cookies are its own. */
const throughProvider = async (start: string): Promise<string> => {
  const cookies = new Map<string, string>()
  for (let at = start; ; ) {
    const answer = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(pair => pair.join('=')).join('; ') },
    })
    await answer.text()
    for (const one of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (one.split(';')[0] as string).split('=')
      cookies.set(name, value)
    }
    const to = new URL(answer.headers.get('location') ?? '', at)
    if (to.origin !== new URL(start).origin) return to.href
    at = to.href
  }
}

const bob = { sub: 'b-1', email: 'bob@example.com', email_verified: true, name: 'Bob' }

const away = async (person: Browser, url: string) => {
  const page = await asked(person, url)
  const left = await person.open(page.url, { do: 'elsewhere' })
  return throughProvider(left.url)
}

t.test('whoever is invited comes in with the provider, and is known afterwards', async t => {
  const { provider, url, api } = await opened(t)
  provider.person = bob
  const stranger = browser(url)
  const refused = await stranger.open(await away(stranger, url))
  t.match(refused, { status: 403, text: /nobody has invited bob@example.com/ })
  t.match(refused.text, 'Sign in with Work', 'on the page where there are other ways')
  await api('POST', '/users?workspace=default', { email: bob.email })
  const person = browser(url)
  t.match((await asked(person, url)).text, 'Sign in with Work')
  t.match((await person.open(await away(person, url))).text, 'Let it act for you?')
  t.match((await api('GET', '/users?workspace=default')).body, [{ accepted: true, email_verified: true }])
  provider.person = { ...bob, email: 'robert@example.com' }
  const again = browser(url)
  t.match((await again.open(await away(again, url))).text, /act for <b>bob@example.com/, 'by who they are there')
  const { data } = (await api('GET', '/audit?everyWorkspace=true')).body
  t.ok(data.some(({ action, actor }: Record<string, string>) => action === 'sign-in' && actor === bob.email))
  t.ok(
    data.some(
      ({ action, detail }: Record<string, { reason?: string }>) =>
        String(action) === 'denied' && /invited/.test(detail?.reason ?? ''),
    ),
  )
})

t.test('an address that is not vouched for, or of another domain, is nobody’s', async t => {
  const { provider, url, api } = await opened(t, {
    domains: ['example.com'],
    join: [{ workspace: 'default', role: 'member' }],
  })
  const tried = async (who: typeof provider.person) => {
    provider.person = who
    const person = browser(url)
    return person.open(await away(person, url))
  }
  t.match(await tried({ ...bob, email_verified: false }), { status: 403, text: /not say that your e-mail/ })
  t.match(await tried({ sub: 'x', email_verified: true }), { status: 403, text: /tells no e-mail/ })
  t.match(await tried({ ...bob, email: 'bob@example.com.evil.test' }), { status: 403, text: /domain/ })
  t.match(await tried({ ...bob, sub: 'e', email: 'eve@evil.test' }), { status: 403, text: /domain/ })
  t.match((await tried(bob)).text, 'Let it act for you?')
  t.match((await api('GET', '/users?workspace=default')).body, [
    { email: bob.email, source: 'domain_capture', role: 'member' },
  ])
})

t.test('a password that somebody else may have set goes when the owner of the address comes', async t => {
  const { provider, url, api, host } = await opened(t)
  const { link } = (await api('POST', '/users?workspace=default', { email: bob.email })).body
  await browser(url).open(link, { name: 'Not Bob', password: 'set by somebody else' })
  provider.person = bob
  const person = browser(url)
  await person.open(await away(person, url))
  t.match(await host.store.identity.person('email', bob.email), { password: null, emailProven: true })
  provider.person = { ...bob, sub: 'a-1', email: ada.email }
  const admin = browser(url)
  await admin.open(await away(admin, url))
  t.match(
    await host.store.identity.person('email', ada.email),
    { password: /^scrypt/ },
    'an admin had it from the operator',
  )
})

t.test('another subject of the issuer with an address that is bound is refused, and nothing is changed', async t => {
  const { provider, url, api, host } = await opened(t)
  await api('POST', '/users?workspace=default', { email: bob.email })
  provider.person = bob
  const first = browser(url)
  await first.open(await away(first, url))
  const before = await host.store.identity.person('email', bob.email)
  provider.person = { ...bob, sub: 'b-2' }
  const next = browser(url)
  t.match(await next.open(await away(next, url)), { status: 403, text: /already bound to another account/ })
  const { identity } = host.store
  t.equal(await identity.identified({ issuer: provider.issuer, subject: 'b-2' }), undefined)
  t.same(await identity.person('email', bob.email), before)
  const change = { identify: { issuer: provider.issuer, subject: 'b-3' }, as: before?.sub ?? '' }
  await t.rejects(identity.change([change], [], 0), { code: 'already_exists' }, 'two at once neither')

  await api('POST', '/workspaces', { name: 'other' })
  const { link } = (await api('POST', '/users?workspace=other', { email: bob.email })).body
  const invited = browser(url)
  const left = await invited.open(link, { do: 'elsewhere' })
  t.match(await invited.open(await throughProvider(left.url)), { status: 403, text: /already bound/ }, 'by a link')
  t.equal(await identity.identified({ issuer: provider.issuer, subject: 'b-2' }), undefined)
  t.equal((await browser(url).open(link)).status, 200, 'the link is still good')
  const { data } = (await api('GET', '/audit?everyWorkspace=true&action=denied')).body
  t.match(data, [{ detail: { reason: /already bound/, count: 2 } }], 'both are written down')

  const clock = systemClock()
  // Sessions know seconds.
  await new Promise(resolve => setTimeout(resolve, 1_100))
  await unbindPerson({ store: host.store, clock, ids: randomIds(), members: { remove: async () => {} } }, bob.email)
  const anew = browser(url)
  t.match((await anew.open(await away(anew, url))).text, 'Let it act for you?', 'as whom the operator made room for')
  t.match(await identity.identified({ issuer: provider.issuer, subject: 'b-2' }), { sub: before?.sub })
  t.equal(await identity.identified({ issuer: provider.issuer, subject: 'b-1' }), undefined)
  t.match((await asked(first, url)).text, 'Sign in', 'who was in as that person has to come again')
})

t.test('answers that nobody asked for are not taken without end from one place, and are written down', async t => {
  const { provider, url, api } = await opened(t)
  provider.person = bob
  const person = browser(url)
  const good = new URL(await away(person, url))
  const forged = new URL(good)
  forged.searchParams.set('state', 'another')
  const cookie = [...person.cookies].map(pair => pair.join('=')).join('; ')
  for (let count = 0; count < 50; count++) t.equal((await fetch(forged, { headers: { cookie } })).status, 401)
  const asked = provider.asked.length
  t.equal((await fetch(good, { headers: { cookie } })).status, 429)
  t.equal(provider.asked.length, asked, 'the provider is not asked')
  const { data } = (await api('GET', '/audit?everyWorkspace=true&action=denied')).body
  t.match(data, [{ detail: { reason: /state/, count: 50 } }])
})

t.test('an invitation that is over does not keep out who may join', async t => {
  const join = [{ workspace: 'default', role: 'member' as const }]
  const { provider, url, api, host } = await opened(t, { domains: ['example.com'], join })
  await api('POST', '/users?workspace=default', { email: bob.email, role: 'admin' })
  const key = { kind: 'workspaceUser', workspace: 'default', parent: '', name: bob.email }
  const record = await host.store.resources.get(key)
  if (!record) throw new Error('no record of the invitation')
  const change = { spec: { ...record.spec, expiresAt: 1 } }
  await (host.store as WritableStore).apply([{ type: 'update', uid: record.uid, version: record.version, change }], 1)
  provider.person = bob
  const person = browser(url)
  t.match((await person.open(await away(person, url))).text, 'Let it act for you?')
  t.match((await api('GET', '/users?workspace=default')).body, [
    { email: bob.email, accepted: true, source: 'domain_capture', role: 'member' },
  ])
})

t.test(
  'an answer that was not asked for here is none: CSRF, replay, fixation, another issuer, another client’s code',
  async t => {
    const { provider, url } = await opened(t)
    provider.person = { ...bob, email: ada.email, sub: 'a-1' }
    const victim = browser(url)
    const back = await away(victim, url)
    const other = browser(url)
    t.match(await other.open(back), { status: 400, text: /begun elsewhere/ }, 'a browser that did not begin it')
    await asked(other, url)
    const attacker = browser(url)
    const theirs = await away(attacker, url)
    t.match(await victim.open(theirs), { status: 401, text: /state/ }, 'the answer of another sign-in')
    const issuer = new URL(await away(victim, url))
    t.ok(issuer.searchParams.get('iss'), 'the provider says who it is')
    issuer.searchParams.set('iss', 'https://evil.example')
    t.match(await victim.open(issuer.href), { status: 401, text: /iss/ }, 'an answer of another issuer')
    const without = new URL(await away(victim, url))
    without.searchParams.delete('iss')
    t.equal((await victim.open(without.href)).status, 401, 'one that does not say whose it is')
    const good = await away(victim, url)
    t.match((await victim.open(good)).text, 'Let it act for you?')
    t.equal((await victim.open(good)).status, 400, 'it was good once')
    const denied = new URL(await away(browser(url), url))
    for (const name of ['code', 'state']) denied.searchParams.delete(name)
    t.equal((await victim.open(denied.href)).status, 400)
    const left = await browser(url).open((await asked(victim, url)).url, { do: 'elsewhere' })
    t.equal(left.status, 400, 'a step of another browser')
  },
)

t.test('a provider that does not answer is said, and asked again', async t => {
  const { url, host } = await hostWithAdmin(t, {
    signIn: { issuer: 'http://127.0.0.1:9', clientId: 'x', secretFile: '', name: 'Gone', domains: [], join: [] },
  })
  t.ok(host)
  const person = browser(url)
  const page = await asked(person, url)
  t.equal((await person.open(page.url, { do: 'elsewhere' })).status, 424)
  t.match((await asked(browser(url), url)).text, 'Sign in with Gone')
})
