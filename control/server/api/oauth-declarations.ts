/** OAuth 2.0 and OpenID Connect, as clients of this API speak it. */
import { route } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'

/** They are for who has no credential yet. */
export const oauth = { family: 'oauth', open: true } as const

const document = s.looseObject({ issuer: s.string() })

/** Bytes of what is sent here. */
export const oauthBodyLimit = 32 * 1024

export const openIdConfiguration = route('GET /v0/.well-known/openid-configuration', {
  ...oauth,
  id: 'oauth.discovery',
  summary: 'Where a client of OpenID Connect finds everything, and what is supported',
  returns: document,
  errors: ['internal'],
})

export const authorizationServer = route('GET /v0/.well-known/oauth-authorization-server', {
  ...oauth,
  id: 'oauth.discovery.server',
  summary: 'The same for a client of OAuth 2.0',
  returns: document,
  errors: ['internal'],
})

const resource = s.object({
  resource: s.string(),
  resource_name: s.string(),
  authorization_servers: s.array(s.string()),
  bearer_methods_supported: s.array(s.string()),
  scopes_supported: s.array(s.string()),
})

export const protectedResource = route('GET /v0/.well-known/oauth-protected-resource', {
  ...oauth,
  id: 'oauth.resource',
  summary: 'Who gives out tokens for this API, and which scopes there are',
  returns: resource,
  errors: ['internal'],
})

export const protectedMcp = route('GET /v0/.well-known/oauth-protected-resource/mcp', {
  ...oauth,
  id: 'oauth.resource.mcp',
  summary: 'The same for clients of MCP, by the address that they ask (RFC 9728)',
  returns: resource,
  errors: ['internal'],
})

export const oauthKeys = route('GET /v0/oauth/jwks.json', {
  ...oauth,
  id: 'oauth.keys',
  summary: 'The public keys that verify tokens',
  returns: s.object({ keys: s.array(s.looseObject({})) }),
  errors: ['internal'],
})

const token = s.object({
  access_token: s.string(),
  token_type: s.literal('Bearer'),
  expires_in: s.number(),
  refresh_token: s.optional(s.string()),
  id_token: s.optional(s.string()),
  scope: s.optional(s.string()),
})

export const oauthToken = route('POST /v0/oauth/token', {
  ...oauth,
  id: 'oauth.token',
  summary: 'Gives an access token, a JWT of two hours, for credentials, a code, a device or a refresh token',
  accepts: 'stream',
  bodyLimit: oauthBodyLimit,
  returns: token,
  statuses: { 202: 'The person has not decided about the device yet' },
  errors: ['invalid_argument', 'payload_too_large', 'internal'],
})

export const oauthRevoke = route('POST /v0/oauth/revoke', {
  ...oauth,
  id: 'oauth.revoke',
  summary: 'Ends a refresh token',
  accepts: 'stream',
  bodyLimit: oauthBodyLimit,
  errors: ['invalid_argument', 'payload_too_large', 'internal'],
})

export const oauthRegister = route('POST /v0/oauth/register', {
  ...oauth,
  id: 'oauth.register',
  summary: 'Makes a client known: RFC 7591',
  accepts: 'stream',
  bodyLimit: oauthBodyLimit,
  returns: s.looseObject({ client_id: s.string() }),
  statuses: { 201: 'The client' },
  errors: ['invalid_argument', 'payload_too_large', 'too_many_attempts', 'internal'],
})

export const startDevice = route('POST /v0/login/device', {
  ...oauth,
  id: 'oauth.device',
  summary: 'Begins a sign-in on a device without a browser: RFC 8628',
  accepts: 'stream',
  bodyLimit: oauthBodyLimit,
  returns: s.object({
    device_code: s.string(),
    user_code: s.string(),
    verification_uri: s.string(),
    verification_uri_complete: s.string(),
    expires_in: s.number(),
    interval: s.number(),
  }),
  errors: ['invalid_argument', 'payload_too_large', 'too_many_attempts', 'internal'],
})
