import type { Migration } from '../migrate.ts'

/**
 * Signing in: what the OAuth provider remembers, the keys it signs with, people, and links that are good once. A grant is a row
 * of `api_keys` whose hash is no hash (`client:…`, `grant:…`): no key has it, and what revokes keys revokes it. Service accounts
 * of before get theirs here, and users the claim by which they are found in every workspace.
 */
export const identity: Migration = {
  version: 8,
  name: 'identity',
  up: `
    CREATE TABLE oauth_records (
      type        TEXT NOT NULL,
      id          TEXT NOT NULL,
      payload     TEXT NOT NULL,
      grant_id    TEXT,
      uid         TEXT,
      user_code   TEXT,
      consumed_at INTEGER,
      expires_at  INTEGER,
      PRIMARY KEY (type, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX oauth_records_by_grant ON oauth_records (grant_id) WHERE grant_id IS NOT NULL;
    CREATE INDEX oauth_records_by_uid ON oauth_records (uid) WHERE uid IS NOT NULL;
    CREATE INDEX oauth_records_by_code ON oauth_records (user_code) WHERE user_code IS NOT NULL;
    CREATE INDEX oauth_records_by_end ON oauth_records (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE signing_keys (
      kid        TEXT PRIMARY KEY,
      sealed     TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE people (
      sub           TEXT PRIMARY KEY,
      account       TEXT NOT NULL REFERENCES accounts (id),
      email         TEXT NOT NULL UNIQUE,
      name          TEXT NOT NULL,
      password      TEXT,
      account_admin INTEGER NOT NULL,
      created_at    INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE links (
      hash       TEXT PRIMARY KEY,
      purpose    TEXT NOT NULL,
      subject    TEXT NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX links_by_subject ON links (purpose, subject);

    INSERT INTO api_keys (id, hash, name, account, workspace, role, account_admin, created_at, owner)
    SELECT r.uid, 'client:' || r.name, r.name, w.account, w.name,
           coalesce(json_extract(r.body, '$.spec.role'), 'member'), 0, r.created_at, r.uid
    FROM resources r JOIN workspaces w ON w.name = r.workspace AND w.deleted_at IS NULL
    WHERE r.kind = 'serviceAccount';

    INSERT OR IGNORE INTO claims (kind, workspace, claim, uid)
    SELECT kind, workspace, name, uid FROM resources WHERE kind = 'workspaceUser';
  `,
}
