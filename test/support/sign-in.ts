/** A browser without a screen: keeps cookies, follows what a person would follow, and fills in forms. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Config } from '../../control/base/config.ts'
import { adminLink } from '../../control/server/access/identity/admin-link.ts'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { openTestHost } from './whole-host.ts'

export interface Seen {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Browser {
  readonly cookies: Map<string, string>
  /** Follows redirects, also those of pages, within the host; one that leads elsewhere is where it ends. */
  open(url: string, form?: Readonly<Record<string, string>>, headers?: Record<string, string>): Promise<Seen>
}

/** A cookie counts where its path leads. */
const sent = (cookies: ReadonlyMap<string, string>): string =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

export const browser = (origin: string): Browser => {
  const cookies = new Map<string, string>()
  const once = async (url: string, form?: Readonly<Record<string, string>>, headers: Record<string, string> = {}) => {
    const answer = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: sent(cookies), accept: 'text/html', ...headers },
      ...(form ? { body: new URLSearchParams(form) } : {}),
    })
    for (const one of answer.headers.getSetCookie()) {
      const [pair = ''] = one.split(';')
      const [name = '', value = ''] = pair.split('=')
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return { url, status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const open: Browser['open'] = async (url, form, headers) => {
    const seen = await once(url, form, headers)
    const onward = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(seen.text)?.[1]?.replaceAll('&amp;', '&')
    const to = seen.headers.get('location') ?? onward
    if (!to) return seen
    const next = new URL(to, url)
    return next.origin === origin ? open(next.href) : { ...seen, url: next.href }
  }
  return { cookies, open }
}

export const verifierFor = () => {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** What a token says, whoever signed it. */
export const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

export const ada = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' }

/** A host that listens, where nobody can sign in. */
export const hostWithNobody = async (t: Test, given: Partial<Config> = {}) => {
  // The directory of a test may have been made already.
  const dataDir = mkdtempSync(join(tmpdir(), 'hutch-sign-in-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const { host, config, api } = await openTestHost(t, dataDir, { config: given })
  const { url } = await host.listen()
  const link = () => adminLink({ store: host.store, clock: systemClock(), ids: randomIds() }, url, 'default')
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
    // oxlint-disable-next-line typescript/no-explicit-any
    return { status: answer.status, body: (await answer.json()) as any }
  }
  const as = async (token: string, path: string) =>
    (await fetch(`${url}/v0${path}`, { headers: { authorization: `Bearer ${token}` } })).status
  return { host, config, api, url, link, post, as }
}

/** The same with one admin who can. */
export const hostWithAdmin = async (t: Test, given: Partial<Config> = {}) => {
  const made = await hostWithNobody(t, given)
  const { status } = await browser(made.url).open(await made.link(), ada)
  t.equal(status, 200, 'the link makes an admin')
  return made
}

export const back = 'http://127.0.0.1:7777/callback'

export const authorizeUrl = (url: string, more: Readonly<Record<string, string>> = {}) =>
  `${url}/v0/oauth/authorize?${new URLSearchParams({
    client_id: 'svc',
    response_type: 'code',
    redirect_uri: back,
    scope: 'openid offline_access',
    state: 's1',
    ...more,
  })}`

export const exchanged = (code: string, verifier: string) => ({
  grant_type: 'authorization_code',
  client_id: 'svc',
  redirect_uri: back,
  code,
  code_verifier: verifier,
})

type Host = Awaited<ReturnType<typeof hostWithAdmin>>

/** The tokens of a client that a person lets act for them. */
export const tokensOf = async (
  { url, post }: Pick<Host, 'url' | 'post'>,
  who: { readonly email: string; readonly password: string },
  more: Readonly<Record<string, string>> = {},
) => {
  const { verifier, challenge } = verifierFor()
  const person = browser(url)
  const asked = await person.open(
    authorizeUrl(url, { code_challenge: challenge, code_challenge_method: 'S256', ...more }),
  )
  const consent = await person.open(asked.url, { do: 'sign-in', email: who.email, password: who.password })
  const done = await person.open(consent.url, { do: 'allow' })
  const code = new URL(done.url).searchParams.get('code') ?? ''
  const { body } = await post('/v0/oauth/token', exchanged(code, verifier))
  return body as { access_token: string; refresh_token: string; id_token: string }
}
