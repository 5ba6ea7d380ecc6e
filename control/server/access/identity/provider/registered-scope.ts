/** Clients register what tells who somebody is, and mean by it what those do that register no scope. */
import type { Configuration } from 'oidc-provider'
import { withMeant } from '../../../../core/access/scopes.ts'

export const registeredScope: Configuration['extraClientMetadata'] = {
  properties: ['scope'],
  validator(_ctx, _key, value, metadata) {
    if (typeof value === 'string') metadata['scope'] = withMeant(value)
  },
}
