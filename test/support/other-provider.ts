/** The operator's provider: a second oidc-provider in this process, whose person says yes to everything. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Test } from 'tap'

export interface OtherProvider {
  readonly issuer: string
  /** Who signs in there next, and what is said of them. */
  person: Record<string, unknown> & { sub: string }
  /** Every address that was asked for. */
  readonly asked: string[]
}

export const secret = 'a secret of the client that is long enough'

const configuration = (back: () => string, person: () => OtherProvider['person']) => ({
  clients: [
    {
      client_id: 'hutch',
      client_secret: secret,
      redirect_uris: [back()],
      grant_types: ['authorization_code'],
      response_types: ['code'] as ['code'],
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: false,
  cookies: { keys: ['test'] },
  features: { devInteractions: { enabled: false } },
  findAccount: async (_ctx: unknown, sub: string) => ({ accountId: sub, claims: async () => ({ ...person(), sub }) }),
  interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
})

/** `back` is where its client takes answers; known when it is asked. */
export const otherProvider = async (t: Test, back: string): Promise<OtherProvider> => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: OtherProvider = { issuer, person: { sub: 'nobody' }, asked: [] }
  const provider = new Provider(
    issuer,
    configuration(
      () => back,
      () => made.person,
    ) as never,
  )
  const callback = provider.callback()
  server.on('request', async (request, response) => {
    made.asked.push(request.url ?? '')
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    const { prompt, params, session } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: made.person.sub } })
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) })
    grant.addOIDCScope(String(params['scope']))
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  })
  return made
}
