/** The keys that tokens are signed with are made anew, and nobody is signed out by it. */
import t from 'tap'
import { systemClock } from '../../../../../shared/clock.ts'
import { call } from '../../../../support/call.ts'
import { testHost } from '../../../../support/whole-host.ts'

const day = 86_400_000

t.test(
  'another key signs after thirty days; what the one before has signed is good as long as it may live',
  async t => {
    // Tokens are made by the time of this machine, long after what the host takes for now: they do not end meanwhile.
    const real = systemClock()
    let now = real.now() - 40 * day
    const { host, api } = await testHost(t, { clock: { ...real, now: () => now } })
    const ask = (method: string, path: string, body?: object, authorization?: string) =>
      call(host.api, method, `/v0${path}`, { body, headers: authorization ? { authorization } : {} })
    const { client_id, client_secret } = (await api('POST', '/service_accounts?workspace=default', { name: 'ci' })).body
    const grant = { grant_type: 'client_credentials', client_id, client_secret }
    const next = async () => (await ask('POST', '/oauth/token', grant)).body.access_token as string
    const statusOf = async (token: string) => (await ask('GET', '/sandboxes', undefined, `Bearer ${token}`)).status
    const known = async () => (await ask('GET', '/oauth/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid)
    const kidOf = (token: string): string =>
      JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid as string

    const first = await next()
    now += 30 * day - 1_000
    t.equal(kidOf(await next()), kidOf(first))
    now += 2_000
    const second = await next()
    t.not(kidOf(second), kidOf(first))
    t.same(await known(), [kidOf(second), kidOf(first)], 'clients still find both')
    t.same([await statusOf(first), await statusOf(second)], [200, 200])
    now += day + 1_000
    t.equal(kidOf(await next()), kidOf(second))
    t.same(await known(), [kidOf(second)])
    t.same([await statusOf(first), await statusOf(second)], [401, 200], 'whoever still has one of before asks anew')
    for (const { sealed } of await host.store.identity.signingKeys())
      t.notMatch(sealed, /"d"/, 'no private key is kept as it is')
  },
)
