import type { Migration } from '../migrate.ts'

/** What was done by whom. Rows are never changed: the database refuses, and the hashes show it where it was made to. */
export const audit: Migration = {
  version: 6,
  name: 'audit',
  up: `
    CREATE TABLE audit (
      seq        INTEGER PRIMARY KEY,
      time       INTEGER NOT NULL,
      account    TEXT    NOT NULL,
      workspace  TEXT    NOT NULL,
      actor      TEXT    NOT NULL,
      credential TEXT    NOT NULL,
      remote     TEXT    NOT NULL,
      request_id TEXT    NOT NULL,
      action     TEXT    NOT NULL,
      kind       TEXT    NOT NULL,
      name       TEXT    NOT NULL,
      uid        TEXT    NOT NULL,
      detail     TEXT    NOT NULL,
      hash       TEXT    NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_workspace ON audit (account, workspace, seq);
    CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
    CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
  `,
}
