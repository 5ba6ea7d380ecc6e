/** What people see of OAuth 2.0, and how it goes on. */
import { route } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import { oauth, oauthBodyLimit } from './oauth-declarations.ts'

const page = { ...oauth, produces: ['text/html'] } as const
const step = { params: s.object({ uid: s.string() }) } as const
const form = { accepts: 'stream', bodyLimit: oauthBodyLimit } as const

export const authorize = route('GET /v0/oauth/authorize', {
  ...page,
  id: 'oauth.authorize',
  summary: 'Asks a person whether a client may act for them: authorization code with PKCE',
  statuses: { 303: 'Leads to sign-in, or back to the client' },
  errors: ['invalid_argument', 'too_many_attempts', 'internal'],
})

export const resumeAuthorize = route('GET /v0/oauth/authorize/:uid', {
  ...page,
  ...step,
  id: 'oauth.authorize.resume',
  summary: 'Goes on when the person has answered',
  statuses: { 303: 'Leads to the next question' },
  errors: ['invalid_argument', 'internal'],
})

export const interactionPage = route('GET /v0/oauth/interaction/:uid', {
  ...page,
  ...step,
  id: 'oauth.interaction',
  summary: 'Sign-in, or consent',
  errors: ['invalid_argument', 'internal'],
})

export const submitInteraction = route('POST /v0/oauth/interaction/:uid', {
  ...page,
  ...step,
  ...form,
  id: 'oauth.interaction.submit',
  summary: 'Takes the answer of a person',
  statuses: { 303: 'Goes on' },
  errors: [
    'invalid_argument',
    'unauthenticated',
    'forbidden',
    'not_found',
    'payload_too_large',
    'too_many_attempts',
    'sign_in_failed',
    'internal',
  ],
})

export const devicePage = route('GET /v0/oauth/device', {
  ...page,
  id: 'oauth.device.page',
  summary: 'Asks for the code of a device',
  errors: ['invalid_argument', 'too_many_attempts', 'internal'],
})

export const submitDevice = route('POST /v0/oauth/device', {
  ...page,
  ...form,
  id: 'oauth.device.submit',
  summary: 'Takes the code of a device',
  statuses: { 303: 'Leads to sign-in' },
  errors: ['invalid_argument', 'forbidden', 'payload_too_large', 'too_many_attempts', 'internal'],
})

export const resumeDevice = route('GET /v0/oauth/device/:uid', {
  ...page,
  ...step,
  id: 'oauth.device.resume',
  summary: 'Goes on when the person has answered',
  errors: ['invalid_argument', 'internal'],
})

const link = { query: s.object({ token: s.string() }) } as const

export const joinPage = route('GET /v0/oauth/join', {
  ...page,
  ...link,
  id: 'oauth.join',
  summary: 'A form for who has a link: the first admin, somebody who is invited, somebody without a password',
  errors: ['not_found', 'too_many_attempts', 'internal'],
})

export const submitJoin = route('POST /v0/oauth/join', {
  ...page,
  ...link,
  ...form,
  id: 'oauth.join.submit',
  summary: 'Does what the link is for, once',
  errors: [
    'invalid_argument',
    'unauthenticated',
    'forbidden',
    'not_found',
    'already_exists',
    'payload_too_large',
    'too_many_attempts',
    'sign_in_failed',
    'internal',
  ],
})

export const elsewhereCallback = route('GET /v0/oauth/callback', {
  ...page,
  id: 'oauth.callback',
  summary: 'Takes the answer of the operator’s provider',
  statuses: { 303: 'Goes on' },
  errors: [
    'invalid_argument',
    'unauthenticated',
    'forbidden',
    'not_found',
    'already_exists',
    'too_many_attempts',
    'sign_in_failed',
    'internal',
  ],
})
