/** The addresses of OAuth 2.0 that people see, and those that lead there. */
import { readBody } from '../../../shared/http/body.ts'
import type { InProcessAnswer } from '../../../shared/http/in-process.ts'
import { handle, json, type Bound, type Reply, type Request } from '../../../shared/route.ts'
import { withMeant } from '../../core/access/scopes.ts'
import type { Identity } from '../access/identity/identity.ts'
import { interaction } from '../access/identity/sign-in.ts'
import { joinRoutes } from './join.ts'
import { shown } from './shown.ts'
import { byOf, formOf, stepped, type SignInDeps } from './sign-in-step.ts'
import { oauthBodyLimit, oauthRegister } from './oauth-declarations.ts'
import * as declared from './sign-in-declarations.ts'

/** Programs that want everything, or all that they have registered, name no scope of the API. */
const meant = async (identity: Identity, request: Request): Promise<Request> => {
  const query = new URLSearchParams(request.rawQuery)
  const registered = await identity.scopeOf(query.get('client_id'))
  query.set('scope', withMeant(query.get('scope') ?? undefined, registered))
  return { ...request, rawQuery: query.toString() }
}

const deciding = ({ identity }: Pick<SignInDeps, 'identity'>): Bound[] => [
  handle(declared.interactionPage, async (_input, { request }) =>
    shown(await stepped(() => interaction(identity, request)), identity.issuer()),
  ),
  handle(declared.submitInteraction, async (_input, context) => {
    const { request } = context
    const fields = new URLSearchParams(await formOf(request))
    const decided = { fields, by: byOf(context) }
    return shown(await stepped(() => interaction(identity, request, decided)), identity.issuer())
  }),
]

export const signInRoutes = (deps: SignInDeps): Bound[] => {
  const { identity } = deps
  const pass = async (request: Request, body?: string): Promise<Reply> =>
    shown(await identity.answer(request, body === undefined ? {} : { body }), identity.issuer())
  // Each is written down, whoever asks.
  const begun = async (request: Request, mean = false): Promise<Reply> => {
    identity.newcomer(request)
    return pass(mean ? await meant(identity, request) : request)
  }
  return [
    handle(declared.authorize, (_input, { request }) => begun(request, true)),
    handle(declared.resumeAuthorize, (_input, { request }) => pass(request)),
    handle(declared.devicePage, (_input, { request }) => begun(request)),
    handle(declared.submitDevice, async (_input, { request }) => {
      // Codes are short, and are not to be guessed at (RFC 8628, 5.1).
      identity.newcomer(request)
      return pass(request, await formOf(request))
    }),
    handle(declared.resumeDevice, (_input, { request }) => pass(request)),
    handle(oauthRegister, async (_input, { request }) => {
      await identity.newClient(request)
      const body = (await readBody(request.body, oauthBodyLimit)).toString('utf8')
      const json = { ...request, headers: { ...request.headers, 'content-type': 'application/json' } }
      return registered(await identity.answer(json, { body }))
    }),
    ...deciding(deps),
    ...joinRoutes(deps),
  ]
}

const registered = ({ status, body }: InProcessAnswer): Reply => {
  const value = JSON.parse(body) as Record<string, unknown>
  const message = value['error_description'] ?? value['error']
  return json(status < 400 ? value : { ...value, code: status, message }, {
    status,
    headers: { 'cache-control': 'no-store' },
  })
}
