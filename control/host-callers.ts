/** Who may call this host. */
import type { Closing } from '../shared/closing.ts'
import { wireNames as spellings } from '../shared/wire-names.ts'
import { createKeyUses } from './auth/key-uses.ts'
import { createKeys } from './auth/keys.ts'
import { createStanding } from './auth/standing.ts'
import { personalKeys } from './auth/personal-keys.ts'
import { createDenials } from './audit/denials.ts'
import type { Config } from './config.ts'
import { createIdentity } from './identity/identity.ts'
import type { Parts } from './parts.ts'

/** Who may call, and how that is given out. */
export const callersOf = (config: Config, parts: Parts, publicUrl: () => string, closer: Closing) => {
  const { store, clock, ids, log } = parts
  const { tenants, audit } = store
  const uses = createKeyUses({ tenants, clock, log }, closer)
  const identity = createIdentity({ ...parts, publicUrl, clientNames: spellings(config.wireNames).oauthClients })
  return {
    uses,
    identity,
    keys: createKeys({ tenants, clock, uses, tokens: identity.tokens }),
    standing: createStanding({ clock, log }, closer),
    personalKeys: personalKeys({ tenants, clock, ids, uses }),
    denials: createDenials({ audit, clock, log }, closer),
  }
}
