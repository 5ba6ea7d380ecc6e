/** Addresses of the host's own pages. They are for people; programs have the APIs. */
import { route } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import { loginPath, openPath } from '../proxy/gateway/logins.ts'
import { assetsPath } from './html/page.ts'

const page = { family: 'pages', open: true, produces: ['text/html'] } as const

export const startPage = route('GET /', { ...page, id: 'pages.start', summary: 'What is served here, and where' })

export const loginPage = route(`GET ${loginPath}` as 'GET /', {
  ...page,
  id: 'pages.login',
  summary: 'A form for an API key, to open a terminal or a port',
  query: s.object({ to: s.optional(s.string()) }),
})

export const submitLogin = route(`POST ${loginPath}` as 'POST /', {
  ...page,
  id: 'pages.login.submit',
  summary: 'Takes the form: leads on to what was asked for, or says what is wrong',
  accepts: 'stream',
  errors: ['payload_too_large'],
})

export const openTicket = route(`GET ${openPath}` as 'GET /', {
  ...page,
  id: 'pages.open',
  summary: 'Exchanges a ticket for a cookie, once, and leads on',
  query: s.object({ ticket: s.string() }),
  errors: ['unauthenticated'],
})

export const asset = route(`GET ${assetsPath}:name` as 'GET /:name', {
  ...page,
  id: 'pages.asset',
  summary: 'What pages load',
  params: s.object({ name: s.string() }),
  errors: ['not_found'],
})

export const explorerRoot = route('GET /explorer', {
  ...page,
  id: 'pages.explorer.root',
  summary: 'Leads to the explorer',
})

export const explorerPage = route('GET /explorer/', {
  ...page,
  id: 'pages.explorer',
  summary: 'Both APIs to read and to try',
  query: s.object({ at: s.optional(s.string()) }),
})

export const workloadDocument = route('GET /explorer/sandbox.json', {
  ...page,
  id: 'pages.explorer.workload',
  summary: 'The document of the per-sandbox API, for the sandbox at an address',
  query: s.object({ at: s.optional(s.string()) }),
  produces: ['application/json'],
})
