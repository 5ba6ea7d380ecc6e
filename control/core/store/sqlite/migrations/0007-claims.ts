import type { Migration } from '../migrate.ts'

/** Whatever workspace it is in: a host name says no workspace. */
export const claimsEverywhere: Migration = {
  version: 7,
  name: 'claims-everywhere',
  up: 'CREATE INDEX claims_by_claim ON claims (kind, claim);',
}
