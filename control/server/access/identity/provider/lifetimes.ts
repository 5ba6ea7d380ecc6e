/** How long what the provider gives out is good, in seconds. */
import type { Configuration } from 'oidc-provider'

const hours = 3_600
const days = 24 * hours

export const lifetimes: Configuration['ttl'] = {
  AccessToken: 2 * hours,
  ClientCredentials: 2 * hours,
  AuthorizationCode: 60,
  DeviceCode: 600,
  Interaction: 1 * hours,
  // One that nobody has signed in with is of no use to anybody.
  Session: (_ctx, session) => (session.accountId ? 14 * days : 1 * hours),
  RefreshToken: 30 * days,
  Grant: 365 * days,
}
