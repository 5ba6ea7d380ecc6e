/** What a person has taken back is told to its client, which then asks anew. */
import t from 'tap'
import { passwordLink, removePerson } from '../../../../../control/server/access/identity/operator.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { randomIds } from '../../../../../shared/ids.ts'
import {
  ada,
  authorizeUrl,
  back,
  browser,
  exchanged,
  hostWithAdmin,
  tokensOf,
  verifierFor,
} from '../../../../support/sign-in.ts'

type Host = Awaited<ReturnType<typeof hostWithAdmin>>

const operatorOf = ({ host }: Host) => {
  const { identity } = host.store
  const remove = ({ sub }: { sub: string }) => identity.change([{ remove: sub }], [], 0)
  return { store: host.store, clock: systemClock(), ids: randomIds(), members: { remove } }
}

/** A code that was given and is not used yet. */
const waitingCode = async ({ url }: Host) => {
  const { verifier, challenge } = verifierFor()
  const person = browser(url)
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const asked = await person.open(authorizeUrl(url, pkce))
  const consent = await person.open(asked.url, { do: 'sign-in', email: ada.email, password: ada.password })
  const done = new URL((await person.open(consent.url, { do: 'allow' })).url)
  t.equal(done.origin, new URL(back).origin)
  return exchanged(done.searchParams.get('code') ?? '', verifier)
}

const endings: Readonly<Record<string, (made: Host) => Promise<unknown>>> = {
  'the grants are deleted': async ({ host }) => {
    const keys = await host.store.tenants.personalKeys('default')
    for (const { id, hash } of keys) if (hash.startsWith('grant:')) await host.store.tenants.removeApiKey(id)
  },
  'the person sets another password': async made => {
    const address = await passwordLink(operatorOf(made), ada.email)
    await browser(made.url).open(`${made.url}${address}`, { password: 'another one of ada' })
  },
  'the person is removed': made => removePerson(operatorOf(made), ada.email),
}

for (const [what, end] of Object.entries(endings))
  t.test(what, async t => {
    const made = await hostWithAdmin(t)
    const { post, as } = made
    const tokens = await tokensOf(made, ada)
    const code = await waitingCode(made)
    t.equal(await as(tokens.access_token, '/sandboxes'), 200)
    await end(made)
    t.equal(await as(tokens.access_token, '/sandboxes'), 401)
    const renewing = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    for (const more of [{}, { client_id: 'svc' }])
      t.match(await post('/v0/oauth/token', { ...renewing, ...more }), {
        status: 400,
        body: { error: 'invalid_grant' },
      })
    t.match(
      await post('/v0/oauth/token', code),
      { status: 400, body: { error: 'invalid_grant' } },
      'nor is a code good',
    )
  })
