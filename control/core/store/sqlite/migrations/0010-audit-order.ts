import type { Migration } from '../migrate.ts'

/** Every entry of the index ends with the number of its row: pages of an account's audit are read in order, not sorted as a whole. */
export const auditOrder: Migration = {
  version: 10,
  name: 'audit-order',
  up: 'CREATE INDEX audit_by_account ON audit (account);',
}
