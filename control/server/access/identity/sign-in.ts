/** The steps of the provider that are pages of ours: who is it, and may that client act for them? */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail, isError } from '../../../../shared/errors.ts'
import type { InProcessAnswer } from '../../../../shared/http/in-process.ts'
import type { Request } from '../../../../shared/route.ts'
import type { AuditedBy } from '../../../core/store/store.ts'
import type { Identity, Step } from './identity.ts'
import { keptCookie } from './elsewhere/cookie.ts'
import { consentPage, onwardPage, signInPage } from './pages.ts'

type Provider = Parameters<Step>[0]
type Details = Awaited<ReturnType<Provider['interactionDetails']>>

interface Visit {
  readonly provider: Provider
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly details: Details
}

const show = (response: ServerResponse, text: string, status = 200): void => {
  response.statusCode = status
  response.setHeader('content-type', 'text/html')
  response.end(text)
}

const askedFor = ({ params }: Details): string[] =>
  String(params['scope'] ?? '')
    .split(' ')
    .filter(Boolean)

const clientOf = async ({ provider, details: { params } }: Visit): Promise<string> => {
  const client = await provider.Client.find(String(params['client_id']))
  const { clientId = '', clientName = clientId } = client ?? {}
  // Whoever names itself by an address is known by its host.
  return clientId.startsWith('https://') ? `${clientName} (${new URL(clientId).host})` : clientName
}

/** Where the answer goes; people know programs by it. */
const goalOf = ({ params }: Details): string => {
  const to = params['redirect_uri']
  return typeof to === 'string' ? new URL(to).origin : 'the program that showed the code'
}

const ask = async (visit: Visit, { people, elsewhere }: Identity, wrong?: string): Promise<void> => {
  const { details, response } = visit
  const person = details.session && (await people.find(details.session.accountId))
  if (details.prompt.name !== 'consent' || !person)
    return show(response, signInPage({ wrong, provider: elsewhere?.name }), wrong === undefined ? 200 : 403)
  const scopes = askedFor(details)
  show(response, consentPage({ client: await clientOf(visit), to: goalOf(details), email: person.email, scopes }))
}

/** The provider gives the session another name: one that was planted is of no use. */
const finishLogin = ({ provider, message, response }: Visit, sub: string): Promise<void> =>
  provider.interactionFinished(message, response, { login: { accountId: sub } }, { mergeWithLastSubmission: false })

const signIn = async (
  visit: Visit,
  { people, elsewhere }: Identity,
  fields: URLSearchParams,
  by: AuditedBy,
): Promise<void> => {
  const { response } = visit
  const email = fields.get('email') ?? ''
  try {
    const { sub } = await people.signIn({ email, password: fields.get('password') ?? '' }, by)
    await finishLogin(visit, sub)
  } catch (error) {
    if (!isError(error) || error.status >= 500) throw error
    show(response, signInPage({ email, wrong: error.message, provider: elsewhere?.name }), error.status)
  }
}

const allow = async (visit: Visit, { people, issuer }: Identity, by: AuditedBy): Promise<void> => {
  const { provider, details, message, response } = visit
  const person = details.session && (await people.find(details.session.accountId))
  if (details.prompt.name !== 'consent' || !person) return show(response, signInPage({}))
  const clientId = String(details.params['client_id'])
  const before = details.grantId ? await provider.Grant.find(details.grantId) : undefined
  const grant = before ?? new provider.Grant({ accountId: person.sub, clientId })
  const scope = askedFor(details).join(' ')
  grant.addOIDCScope(scope)
  // The provider looks for it under the name that was sent, and each of them means this API.
  for (const to of new Set([issuer(), ...[details.params['resource'] ?? []].flat().map(String)]))
    grant.addResourceScope(to, scope)
  const id = await grant.save()
  if (!before) await people.allow(person, { id, client: await clientOf(visit) }, by)
  await provider.interactionFinished(message, response, { consent: { grantId: id } }, { mergeWithLastSubmission: true })
}

/** To the operator's provider; the browser keeps what its answer is compared with. */
const leave = async ({ details, response }: Visit, { elsewhere, issuer }: Identity): Promise<void> => {
  if (!elsewhere) throw fail('not_found', { kind: 'provider', name: 'of this host' })
  const { url, kept } = await elsewhere.begin(JSON.stringify({ uid: details.uid }))
  response.setHeader('set-cookie', keptCookie(kept, issuer()))
  show(response, onwardPage(url, `To ${elsewhere.name}`))
}

const visiting = async (...[provider, message, response]: Parameters<Step>): Promise<Visit> => ({
  provider,
  message,
  response,
  details: await provider.interactionDetails(message, response),
})

/** Whoever comes back from elsewhere is signed in to the step `uid`, which the same browser has begun; or is told why not. */
export const comeBack = (
  identity: Identity,
  request: Request,
  uid: string,
  who: { readonly sub: string } | { readonly wrong: string },
): Promise<InProcessAnswer> =>
  identity.interact(request, async (...step) => {
    const visit = await visiting(...step)
    if ('wrong' in who) return ask(visit, identity, who.wrong)
    if (visit.details.uid === uid && visit.details.prompt.name === 'login') return finishLogin(visit, who.sub)
    return ask(visit, identity)
  })

/** A page, or where it goes on. Rejects when there is nothing to decide. */
export const interaction = (
  identity: Identity,
  request: Request,
  decided?: { readonly fields: URLSearchParams; readonly by: AuditedBy },
): Promise<InProcessAnswer> =>
  identity.interact(request, async (provider, message, response) => {
    const visit = await visiting(provider, message, response)
    if (!decided) return ask(visit, identity)
    const { fields, by } = decided
    const what = fields.get('do')
    if (what === 'sign-in' && visit.details.prompt.name === 'login') return signIn(visit, identity, fields, by)
    if (what === 'elsewhere' && visit.details.prompt.name === 'login') return leave(visit, identity)
    if (what === 'allow') return allow(visit, identity, by)
    const no = { error: 'access_denied', error_description: 'the person said no' }
    if (what === 'deny') return provider.interactionFinished(message, response, no, { mergeWithLastSubmission: false })
    return ask(visit, identity)
  })
