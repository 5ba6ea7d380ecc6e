/** People are invited into workspaces, come in by a link, and are there what their role says, with whatever credential. */
import t from 'tap'
import { ada, browser, hostWithAdmin, tokensOf } from '../../../../support/sign-in.ts'

const bob = { email: 'bob@example.com', name: 'Bob', password: 'another long password' }

type Host = Awaited<ReturnType<typeof hostWithAdmin>>

/** What a credential gets from an address: status and body. */
const asking =
  ({ url }: Host, token: string) =>
  async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/v0${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'svc-version': '2026-04-28' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    // oxlint-disable-next-line typescript/no-explicit-any
    return { status: answer.status, body: (text ? JSON.parse(text) : {}) as any, text }
  }

const invite = async (made: Host, email: string, role = 'member', workspace = 'default') =>
  (await made.api('POST', `/users?workspace=${workspace}`, { email, role })).body as { link: string; expiresAt: string }

const member = async (made: Host, role = 'member', who = bob) => {
  const { link } = await invite(made, who.email, role)
  const { email: _, ...rest } = who
  const seen = await browser(made.url).open(link, rest)
  return { seen, link }
}

t.test('whoever is invited accepts by the link, once, and is a member with every credential', async t => {
  const made = await hostWithAdmin(t)
  const { url, api } = made
  const { link } = await invite(made, bob.email)
  t.ok(link.startsWith(`${url}/v0/oauth/join?token=`))
  t.match((await api('GET', '/users?workspace=default')).body, [{ email: bob.email, accepted: false, expired: false }])
  const page = await browser(url).open(link)
  t.match(page.text, /invites you to the workspace <b>default<\/b>/)
  t.match(page.text, /value="bob@example.com" readonly/)
  t.equal((await browser(url).open(link, { name: 'Bob', password: 'short' })).status, 400)
  const other = await browser(url).open(link, { ...bob, email: 'eve@example.com' })
  t.match(other, { status: 200, text: /bob@example.com/ }, 'whom the link is for decides the address')
  t.equal((await browser(url).open(link)).status, 404, 'it is used up')
  t.match((await api('GET', '/users?workspace=default')).body, [
    { email: bob.email, accepted: true, email_verified: false, role: 'member', source: 'invitation' },
  ])
  await api('POST', '/workspaces', { name: 'other' })
  const { access_token: token } = await tokensOf(made, bob)
  const ask = asking(made, token)
  t.equal((await ask('GET', '/sandboxes')).status, 200, 'the only workspace they are in is meant')
  t.equal((await ask('GET', '/sandboxes?workspace=other')).status, 403)
  t.match((await ask('GET', '/workspaces')).body, [{ name: 'default' }])
  t.equal((await ask('GET', '/workspaces/other')).status, 403)
  for (const [method, path, body] of [
    ['POST', '/users', { email: 'x@example.com' }],
    ['POST', '/policies', { metadata: { name: 'p' } }],
    ['PUT', '/workspaces/default', { displayName: 'mine' }],
    ['DELETE', '/workspaces/default'],
    ['POST', '/workspaces', { name: 'third' }],
    ['GET', '/audit'],
    ['GET', '/audit?everyWorkspace=true'],
    ['GET', '/metrics'],
  ] as const)
    t.equal((await ask(method, path, body)).status, 403, `${method} ${path}`)
})

t.test('an admin of one workspace is none of another, and none of the account', async t => {
  const made = await hostWithAdmin(t)
  const { url, api } = made
  await api('POST', '/workspaces', { name: 'other' })
  await member(made, 'admin')
  const second = await invite(made, bob.email, 'member', 'other')
  const wrong = await browser(url).open(second.link, { password: 'not the password of bob' })
  t.match(wrong, { status: 401, text: /Sign in to accept/ }, 'somebody who is known signs in')
  t.equal((await browser(url).open(second.link, { password: bob.password })).status, 200)
  const ask = asking(made, (await tokensOf(made, bob)).access_token)
  t.equal((await ask('PUT', '/workspaces/default', { displayName: 'Ours' })).status, 200)
  t.equal((await ask('PUT', '/workspaces/other', { displayName: 'Ours' })).status, 403)
  t.equal((await ask('DELETE', '/workspaces/other')).status, 403)
  t.equal((await ask('GET', '/audit?workspace=default')).status, 200)
  t.equal((await ask('GET', '/audit?workspace=other')).status, 403)
  t.equal((await ask('GET', '/audit?workspace=default&everyWorkspace=true')).status, 403)
  t.equal((await ask('POST', '/workspaces', { name: 'third' })).status, 403)
  t.match(await ask('GET', '/sandboxes'), { status: 400 }, 'of several it must be said which')
  const { body: bill } = await ask(
    'GET',
    '/accounts/default/metrics?startTime=2026-01-01T00:00:00Z&endTime=2026-01-02T00:00:00Z',
  )
  t.match(bill, { message: /Access denied/ }, 'the bill of all workspaces is not theirs')
  t.equal((await api('PUT', `/users/${bob.email}?workspace=default`, { role: 'member' })).status, 200)
  t.equal((await ask('PUT', '/workspaces/default', { displayName: 'Mine' })).status, 403, 'a role holds at once')
})

t.test('a key that is made with a login outlives its token, and ends with the person’s last membership', async t => {
  const made = await hostWithAdmin(t)
  const { api, host } = made
  await member(made)
  const tokens = await tokensOf(made, bob)
  const key = (await asking(made, tokens.access_token)('POST', '/api_keys', { name: 'laptop' })).body
  t.notOk('expiresAt' in key, 'it does not end with the two hours of the token')
  const byKey = asking(made, key.apiKey)
  t.equal((await byKey('GET', '/sandboxes')).status, 200)
  t.equal((await byKey('PUT', '/workspaces/default', { displayName: 'x' })).status, 403, 'it may not do more than they')
  const grants = (await host.store.tenants.personalKeys('default')).filter(({ hash }) => hash.startsWith('grant:'))
  for (const { id } of grants) await host.store.tenants.removeApiKey(id)
  t.equal((await asking(made, tokens.access_token)('GET', '/sandboxes')).status, 401)
  t.equal((await byKey('GET', '/sandboxes')).status, 200, 'nor with the login')
  const { sub } = (await api('GET', '/users?workspace=default')).body[0]
  t.equal((await api('DELETE', `/users/${sub}?workspace=default`)).status, 200)
  t.equal((await byKey('GET', '/sandboxes')).status, 401)
  const again = await invite(made, bob.email)
  await browser(made.url).open(again.link, { password: bob.password })
  t.equal((await byKey('GET', '/sandboxes')).status, 401, 'and is not good again when they are invited again')
})

t.test(
  'a person leaves a workspace; who has an invitation sees, accepts and declines it with a credential',
  async t => {
    const made = await hostWithAdmin(t)
    const { api, host } = made
    await member(made)
    const ask = asking(made, (await tokensOf(made, bob)).access_token)
    for (const name of ['other', 'third']) {
      await api('POST', '/workspaces', { name })
      await invite(made, bob.email, 'member', name)
    }
    t.match(await ask('GET', '/profile/invitations'), { status: 403, body: { message: /proven/ } })
    const person = await host.store.identity.person('email', bob.email)
    const proven = { person: person?.sub ?? '', set: { emailProven: true } }
    await host.store.identity.change([proven], [], 0)
    const { body: waiting } = await ask('GET', '/profile/invitations')
    t.match(waiting, [
      { email: bob.email, role: 'member', type: 'workspace', workspace: { name: 'other' }, account: { id: 'default' } },
      { workspace: { name: 'third' } },
    ])
    t.match(await ask('POST', '/workspaces/other/join'), {
      status: 200,
      body: { email: bob.email, workspace: { name: 'other' } },
    })
    t.equal((await ask('GET', '/sandboxes?workspace=other')).status, 200)
    t.equal((await ask('POST', '/workspaces/other/join')).status, 404, 'once')
    t.match(await ask('POST', '/workspaces/third/decline'), {
      status: 200,
      body: { email: bob.email, workspace: 'third' },
    })
    t.equal((await ask('GET', '/sandboxes?workspace=third')).status, 403)
    t.equal((await ask('GET', '/profile/invitations')).status, 404, 'there are none')
    t.equal((await ask('DELETE', '/workspaces/other/leave')).status, 200)
    t.equal((await ask('GET', '/sandboxes?workspace=other')).status, 403)
    const audit = (await api('GET', '/audit?everyWorkspace=true&kind=workspaceUser')).body.data
    t.ok(audit.some((one: { actor: string; action: string }) => one.actor === bob.email && one.action === 'update'))
  },
)

t.test('invitations end: by time, by being taken back, with the workspace', async t => {
  const made = await hostWithAdmin(t)
  const { url, api } = made
  const first = await invite(made, bob.email)
  t.equal((await api('POST', '/users?workspace=default', { email: bob.email })).status, 409)
  await api('DELETE', `/users/${bob.email}?workspace=default`)
  t.equal((await browser(url).open(first.link)).status, 404)
  await api('POST', '/workspaces', { name: 'other' })
  const second = await invite(made, bob.email, 'member', 'other')
  t.equal((await browser(url).open(second.link)).status, 200)
  await api('DELETE', '/workspaces/other')
  t.equal((await browser(url).open(second.link, bob)).status, 404)
})

t.test('failed sign-ins are written down: as whom, how often, from where', async t => {
  const made = await hostWithAdmin(t)
  const person = browser(made.url)
  const { url } = await person.open(
    `${made.url}/v0/oauth/authorize?client_id=svc&response_type=code&redirect_uri=http://127.0.0.1:1/callback&code_challenge=${'a'.repeat(43)}&code_challenge_method=S256`,
  )
  const tries = (email: string) => person.open(url, { do: 'sign-in', email, password: 'wrong' })
  for (let count = 0; count < 12; count++) await tries(ada.email)
  for (let count = 0; count < 3; count++) await tries(`nobody-${count}@example.com`)
  const { data } = (await made.api('GET', '/audit?everyWorkspace=true&action=denied')).body
  t.match(
    data.find(({ kind }: { kind: string }) => kind === 'person'),
    {
      name: ada.email,
      remote: /127\.0\.0\.1/,
      detail: { count: 12, reason: /wrong/ },
    },
  )
  t.equal(data.filter(({ kind }: { kind: string }) => kind === 'person').length, 1)
  t.match(
    data.find(({ name }: { name: string }) => name === 'sign-in'),
    { actor: '', detail: { count: 3 } },
  )
  const head = (await made.api('GET', '/audit?everyWorkspace=true')).text
  t.notOk(head.includes('nobody-0@'), 'what was typed as an address may be a password')
})
