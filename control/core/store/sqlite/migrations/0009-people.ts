import type { Migration } from '../migrate.ts'

/**
 * People who are no admins of the account: which workspaces each is in and as what, with the record it goes with; who somebody
 * is at the operator's provider; mails that are to be sent. Keys are found by whose they are.
 */
export const people: Migration = {
  version: 9,
  name: 'people',
  up: `
    ALTER TABLE people ADD COLUMN email_proven INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE people ADD COLUMN sessions_from INTEGER NOT NULL DEFAULT 0;

    CREATE TABLE memberships (
      uid       TEXT PRIMARY KEY,
      sub       TEXT NOT NULL,
      workspace TEXT NOT NULL,
      role      TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX memberships_by_person ON memberships (sub, workspace);

    CREATE TABLE identities (
      issuer  TEXT NOT NULL,
      subject TEXT NOT NULL,
      sub     TEXT NOT NULL,
      PRIMARY KEY (issuer, subject)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX identities_by_person ON identities (sub);

    CREATE TABLE mails (
      id         TEXT PRIMARY KEY,
      sealed     TEXT NOT NULL,
      due_at     INTEGER NOT NULL,
      attempts   INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX mails_by_due ON mails (due_at);

    CREATE INDEX api_keys_by_person ON api_keys (person ->> '$.sub') WHERE person IS NOT NULL;
  `,
}
