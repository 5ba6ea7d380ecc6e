/** People in a real Chromium: the first admin, a client with PKCE, a device, somebody who is invited, and another provider. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chromium, withoutChromium, type Page } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { otherProvider, secret } from '../support/other-provider.ts'
import { ada, authorizeUrl, back, exchanged, hostWithNobody, verifierFor } from '../support/sign-in.ts'

t.setTimeout(300_000)

t.test('a browser signs people in', { skip: withoutChromium }, async t => {
  const port = await freePort()
  const provider = await otherProvider(t, `http://127.0.0.1:${port}/v0/oauth/callback`)
  const dir = t.testdir()
  writeFileSync(join(dir, 'secret'), secret)
  const signIn = { issuer: provider.issuer, clientId: 'hutch', secretFile: join(dir, 'secret'), name: 'Work' }
  const made = await hostWithNobody(t, { port, signIn: { ...signIn, domains: [], join: [] } })
  const { url, post, as, link, api } = made
  const browser = await chromium(t)
  const pictures = process.env['PICTURES'] ?? dir
  let shots = 0
  const look = async (page: Page, name: string) => {
    shots++
    await page.picture(join(pictures, `${shots}-${name}-phone.png`), 360)
    await page.picture(join(pictures, `${shots}-${name}.png`), 1000)
  }
  const fill = async (page: Page, fields: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(fields)) {
      await page.eval(`document.querySelector('input[name=${name}]').focus()`)
      await page.type(value)
    }
  }
  const press = (page: Page, selector: string) => page.eval(`document.querySelector('${selector}').click()`)
  const titled = (page: Page, title: string) => page.until(`document.title === '${title}'`)
  const foreign = (page: Page, ...allowed: string[]) =>
    page.requests.filter(one => one.startsWith('http') && ![url, ...allowed].some(origin => one.startsWith(origin)))
  const authorize = async (page: Page) => {
    const { verifier, challenge } = verifierFor()
    await page.goto(authorizeUrl(url, { code_challenge: challenge, code_challenge_method: 'S256' }))
    return verifier
  }
  const answered = async (page: Page, verifier: string) => {
    await page.until(`location.href.startsWith('chrome-error') || location.href.startsWith('${back}')`)
    const at = page.requests.findLast(one => one.startsWith(back)) ?? ''
    const code = new URL(at).searchParams.get('code') ?? ''
    return (await post('/v0/oauth/token', exchanged(code, verifier))).body.access_token as string
  }

  const first = await browser.page()
  await first.goto(await link())
  await look(first, 'first-admin')
  await fill(first, ada)
  await press(first, 'button')
  await titled(first, 'You are an admin')
  await look(first, 'joined')
  const verifier = await authorize(first)
  await titled(first, 'Sign in')
  await look(first, 'sign-in')
  await fill(first, { email: ada.email, password: 'wrong' })
  await press(first, 'button[value=sign-in]')
  await first.until(`document.querySelector('.wrong')`)
  await look(first, 'wrong')
  await fill(first, { password: ada.password })
  await press(first, 'button[value=sign-in]')
  await titled(first, 'Let it act for you?')
  await look(first, 'consent')
  await press(first, 'button[value=allow]')
  t.equal(await as(await answered(first, verifier), '/sandboxes'), 200)
  t.same(foreign(first, back), [], 'nobody else was asked')

  const { body: device } = await post('/v0/login/device', { client_id: 'svc' })
  await first.goto(device.verification_uri_complete)
  await titled(first, 'Sign in on a device')
  await look(first, 'device-begin')
  await press(first, 'button')
  await titled(first, 'Is this your program?')
  await look(first, 'device')
  await press(first, 'button:not([name=abort])')
  await titled(first, 'Let it act for you?')
  await press(first, 'button[value=allow]')
  await titled(first, 'Done')

  const { body: invited } = await api('POST', '/users?workspace=default', { email: 'bob@example.com' })
  const second = await browser.page()
  await second.goto(invited.link)
  await titled(second, 'You are invited')
  await look(second, 'invitation')
  await fill(second, { name: 'Bob', password: 'another long password' })
  await press(second, 'button[value=join]')
  await titled(second, 'You are in')

  await api('POST', '/users?workspace=default', { email: 'eve@example.com' })
  provider.person = { sub: 'e', email: 'eve@example.com', email_verified: true, name: 'Eve' }
  const third = await browser.page()
  const theirs = await authorize(third)
  await titled(third, 'Sign in')
  await press(third, 'button[value=elsewhere]')
  await titled(third, 'Let it act for you?')
  await press(third, 'button[value=allow]')
  t.equal(await as(await answered(third, theirs), '/workspaces'), 200)
  t.same(foreign(third, back, provider.issuer), [])
  t.same(
    (await api('GET', '/users?workspace=default')).body.map((one: { accepted: boolean }) => one.accepted),
    [true, true],
  )
  for (const page of [first, second, third])
    t.same(
      page.complaints.filter(one => !one.includes('127.0.0.1:7777') && !one.includes('401')),
      [],
      'no policy was broken',
    )
})
