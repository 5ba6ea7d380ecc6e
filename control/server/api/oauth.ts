/** The addresses of OAuth 2.0: what comes in as the contract has it, and what the provider says to it. */
import { readBody } from '../../../shared/http/body.ts'
import { isError } from '../../../shared/errors.ts'
import { handle, json, Reply, type Bound, type Request } from '../../../shared/route.ts'
import { grantableScopes, unknownScopes, withMeant } from '../../core/access/scopes.ts'
import type { Denials } from '../access/audit/denials.ts'
import type { Identity } from '../access/identity/identity.ts'
import { asLibraryHasIt, fieldsOf, type TokenRequest } from '../access/identity/provider/wire.ts'
import { passedOn, refused, saidOf } from './oauth-answers.ts'
import { signInRoutes } from './sign-in.ts'
import * as declared from './oauth-declarations.ts'

export interface OAuthDeps {
  readonly identity: Identity
  readonly denials: Pick<Denials, 'note'>
}

const textOf = (value: string | string[] | undefined): string => (typeof value === 'string' ? value : '')

const requestOf = async (request: Request): Promise<TokenRequest> => {
  const { headers } = request
  const body = await readBody(request.body, declared.oauthBodyLimit)
  const authorization = textOf(headers['authorization'])
  return asLibraryHasIt({
    fields: fieldsOf(body, textOf(headers['content-type'])),
    // A client may go on sending the token it had.
    authorization: /^basic /i.test(authorization) ? authorization : undefined,
  })
}

/** What was sent; a body that is nothing of the kind is refused as OAuth does it. */
const given = async (request: Request): Promise<TokenRequest | Reply> => {
  try {
    return await requestOf(request)
  } catch (error) {
    if (!isError(error, 'invalid_body')) throw error
    return refused('invalid_request', error.message)
  }
}

const give = async ({ identity, denials }: OAuthDeps, request: Request, requestId: string): Promise<Reply> => {
  const sent = await given(request)
  if (sent instanceof Reply) return sent
  const { fields, authorization } = sent
  if (!fields['grant_type']) return refused('invalid_request', 'grant_type: is missing')
  const { refresh_token: refresh } = fields
  if (fields['grant_type'] === 'refresh_token' && refresh && !authorization && !fields['client_id']) {
    // Clients of the contract do not say who they are: a public client is known by its token.
    const client = await identity.clientOf(refresh)
    if (!client) return refused('invalid_grant', 'refresh_token: is not valid')
    fields['client_id'] = client
  }
  const [unknown] = unknownScopes(fields['scope'])
  if (unknown) return refused('invalid_scope', `there is no scope "${unknown.slice(0, 64)}"`)
  const answer = await identity.answer(request, { authorization, body: new URLSearchParams(fields).toString() })
  const { status, reason, reply: said } = saidOf(answer)
  const by = { actor: '', credential: '', remote: request.remote, requestId, account: '', workspace: '' }
  if (status === 400) denials.note({ ...by, endpoint: declared.oauthToken.id, reason })
  return said
}

/** Ending a token that is none is no mistake. */
const end = async ({ identity }: OAuthDeps, request: Request): Promise<Reply> => {
  const sent = await given(request)
  if (sent instanceof Reply) return sent
  const body = new URLSearchParams(sent.fields).toString()
  return saidOf(await identity.answer(request, { authorization: sent.authorization, body })).reply
}

/** What RFC 8628 has clients do that are told nothing (3.2); whoever asks more often is answered all the same. */
const pollEveryS = 5

/** A device begins: what it may do in the end is what it names, or everything. */
const device = async ({ identity }: OAuthDeps, request: Request): Promise<Reply> => {
  identity.newcomer(request)
  const sent = await given(request)
  if (sent instanceof Reply) return sent
  const { fields, authorization } = sent
  const scope = withMeant(fields['scope'], await identity.scopeOf(fields['client_id']))
  const body = new URLSearchParams({ ...fields, scope }).toString()
  const answer = await identity.answer(request, { authorization, body })
  if (answer.status !== 200) return saidOf(answer).reply
  return json(
    { ...(JSON.parse(answer.body) as object), interval: pollEveryS },
    { headers: { 'cache-control': 'no-store' } },
  )
}

export const oauthRoutes = (deps: OAuthDeps): Bound[] => {
  const { identity } = deps
  const discover = async (request: Request): Promise<Reply> =>
    passedOn(await identity.answer({ ...request, rawPath: declared.openIdConfiguration.path, rawQuery: '' }))
  const describe = (path: string) => ({
    resource: `${identity.issuer()}${path}`,
    resource_name: 'Hutch',
    authorization_servers: [identity.issuer()],
    bearer_methods_supported: ['header'],
    scopes_supported: [...grantableScopes],
  })
  return [
    handle(declared.openIdConfiguration, (_input, { request }) => discover(request)),
    handle(declared.authorizationServer, (_input, { request }) => discover(request)),
    handle(declared.protectedResource, () => describe('')),
    handle(declared.protectedMcp, () => describe('/mcp')),
    handle(declared.oauthKeys, async (_input, { request }) => passedOn(await identity.answer(request))),
    handle(declared.oauthToken, (_input, { request, requestId }) => give(deps, request, requestId)),
    ...signInRoutes(deps),
    handle(declared.startDevice, (_input, { request }) => device(deps, request)),
    handle(declared.oauthRevoke, (_input, { request }) => end(deps, request)),
  ]
}
