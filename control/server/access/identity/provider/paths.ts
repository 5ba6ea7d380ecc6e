/** Where the provider answers, below `/v0`. */
export const paths = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks.json',
  revocation: '/oauth/revoke',
  registration: '/oauth/register',
  device_authorization: '/login/device',
  code_verification: '/oauth/device',
} as const
