import type { Migration } from '../migrate.ts'

/**
 * Keys that belong to a resource and may be limited to scopes; workspaces that can be changed and deleted; revisions in
 * events; claims. A deleted workspace keeps its row: its bill is of the account, and its name is not given to another.
 */
export const keysAndRevisions: Migration = {
  version: 4,
  name: 'keys-revisions',
  up: `
    ALTER TABLE api_keys ADD COLUMN scopes TEXT;
    ALTER TABLE api_keys ADD COLUMN owner TEXT;
    CREATE INDEX api_keys_by_owner ON api_keys (owner) WHERE owner IS NOT NULL;

    ALTER TABLE workspaces ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE workspaces ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE workspaces ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE workspaces ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE workspaces ADD COLUMN deleted_at INTEGER;
    UPDATE workspaces SET updated_at = created_at;

    ALTER TABLE events ADD COLUMN canary_revision TEXT;

    -- What only one resource of a kind and workspace may have: an address, for example.
    CREATE TABLE claims (
      kind      TEXT NOT NULL,
      workspace TEXT NOT NULL,
      claim     TEXT NOT NULL,
      uid       TEXT NOT NULL,
      PRIMARY KEY (kind, workspace, claim)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX claims_by_uid ON claims (uid);
  `,
}
