/** The host's own pages, behind one dispatcher: start, login, explorer, and what they load. */
import type { Clock } from '../../../shared/clock.ts'
import { fail, isError } from '../../../shared/errors.ts'
import { dispatcher, type Dispatcher } from '../../../shared/http/dispatch.ts'
import { readBody } from '../../../shared/http/body.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import { handle, json, reply, type Reply, type Request } from '../../../shared/route.ts'
import { wantsHtml } from './html/accept.ts'
import { createAssets } from './html/assets.ts'
import { html } from './html/html.ts'
import { onwardText } from './html/onward-page.ts'
import { pageHeaders, pageText, rootFrom, type PagePolicy } from './html/page.ts'
import { explorerPolicy, explorerText, workloadDocumentOf } from './explorer.ts'
import { loginForm, openingFor, type LoginDeps, type LoginForm } from './login.ts'
import * as routes from './routes.ts'
import { startBody, startDocument } from './start.ts'
import { pagesSurface } from './surface.ts'

export interface PagesDeps extends LoginDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

const maxFormBytes = 16 * 1024

const page = (text: string, status = 200, policy?: PagePolicy): Reply => reply(status, pageHeaders(policy), text)

const hostOf = ({ headers }: Request): string => (typeof headers['host'] === 'string' ? headers['host'] : '')

/** Leads on, and leaves nothing of this address behind. */
const leadOn = ({ cookie, location }: { cookie: string; location: string }): Reply =>
  reply(303, { location, 'set-cookie': cookie, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })

const loginText = (form: Partial<LoginForm>, root: string, wrong?: string): string =>
  pageText({
    title: 'Log in',
    root,
    body: html`<main>
<h1>Log in</h1>
${form.to ? html`<p>To open <code>${form.to}</code></p>\n` : []}${loginForm(form, { action: 'login', ...(wrong === undefined ? {} : { wrong }) })}
</main>`,
  })

const startText = (root: string): string =>
  pageText({ title: 'Hutch', root, body: startBody(loginForm({}, { action: '_hutch/login' })) })

const readForm = async (request: Request): Promise<LoginForm> => {
  const given = new URLSearchParams((await readBody(request.body, maxFormBytes)).toString('utf8'))
  const at = (name: string) => given.get(name)?.trim() || undefined
  return { key: at('key') ?? '', to: at('to'), workspace: at('workspace'), name: at('name'), port: at('port') }
}

const submit = async (deps: PagesDeps, request: Request): Promise<Reply> => {
  const form = await readForm(request)
  const root = rootFrom(request.rawPath)
  try {
    const opening = await openingFor(deps, form)
    if (opening.port === null) return leadOn(deps.logins.open(opening))
    return page(onwardText(deps.logins.link(opening, hostOf(request)).url, root))
  } catch (error) {
    // In the form again: the person is at it.
    if (!isError(error) || error.status >= 500) throw error
    return page(loginText(form, root, error.message), error.status)
  }
}

/** Scripts and styles are the same for everybody until the next version. */
const assetHeaders = { 'cache-control': 'max-age=3600', 'cross-origin-resource-policy': 'same-origin' }

export const createPages = (deps: PagesDeps): Dispatcher => {
  const assets = createAssets()
  const { logins, log, ids, clock } = deps
  const bounds = [
    handle(routes.startPage, (_input, { request }) =>
      wantsHtml(request)
        ? reply(200, { ...pageHeaders(), vary: 'Accept' }, startText(rootFrom(request.rawPath)))
        : json(startDocument(), { headers: { vary: 'Accept' } }),
    ),
    handle(routes.loginPage, ({ query }, { request }) => page(loginText({ to: query.to }, rootFrom(request.rawPath)))),
    handle(routes.submitLogin, (_input, { request }) => submit(deps, request)),
    handle(routes.openTicket, ({ query }, { request }) => leadOn(logins.exchange(query.ticket, hostOf(request)))),
    handle(routes.asset, async ({ params }) => {
      const found = await assets(params.name)
      if (!found) throw fail('not_found', { kind: 'file', name: params.name })
      return reply(200, { 'content-type': found.type, ...assetHeaders }, found.bytes)
    }),
    handle(routes.explorerRoot, () => reply(301, { location: 'explorer/' })),
    handle(routes.explorerPage, ({ query }) => page(explorerText(query.at, '../'), 200, explorerPolicy)),
    handle(routes.workloadDocument, ({ query }) => json(workloadDocumentOf(query.at))),
  ]
  return dispatcher(bounds, pagesSurface(), { log, ids, elapsed: () => clock.elapsed() })
}

/** Whether an address is one of these pages: some at every host name, the rest at that of the API. */
export const isPage = (url: string, atWorkload: boolean): boolean => {
  if (url.startsWith('/_hutch/')) return true
  if (atWorkload) return false
  const [path = ''] = url.split('?', 1)
  return path === '/' || path === '/explorer' || path.startsWith('/explorer/')
}
