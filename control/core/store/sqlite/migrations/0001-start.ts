import type { Migration } from '../migrate.ts'

/** Tenants, resources with their events, and the meter. */
export const start: Migration = {
  version: 1,
  name: 'start',
  up: `
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

    CREATE TABLE accounts (
      id           TEXT    PRIMARY KEY,
      display_name TEXT    NOT NULL,
      created_at   INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE workspaces (
      name         TEXT    PRIMARY KEY,
      id           TEXT    NOT NULL UNIQUE,
      account      TEXT    NOT NULL REFERENCES accounts (id),
      display_name TEXT    NOT NULL,
      created_at   INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX workspaces_by_account ON workspaces (account, name);

    CREATE TABLE api_keys (
      id            TEXT    PRIMARY KEY,
      hash          TEXT    NOT NULL UNIQUE,
      name          TEXT    NOT NULL,
      account       TEXT    NOT NULL REFERENCES accounts (id),
      workspace     TEXT,
      role          TEXT    NOT NULL CHECK (role IN ('admin', 'member')),
      account_admin INTEGER NOT NULL CHECK (account_admin IN (0, 1)),
      created_at    INTEGER NOT NULL,
      expires_at    INTEGER
    ) STRICT;

    CREATE TABLE resources (
      uid         TEXT    PRIMARY KEY,
      kind        TEXT    NOT NULL,
      workspace   TEXT    NOT NULL,
      parent      TEXT    NOT NULL,
      name        TEXT    NOT NULL,
      version     INTEGER NOT NULL CHECK (version > 0),
      status      TEXT    NOT NULL,
      external_id TEXT,
      search      TEXT    NOT NULL,
      created_at  INTEGER NOT NULL,
      updated_at  INTEGER NOT NULL,
      body        TEXT    NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX resources_by_key ON resources (kind, workspace, parent, name);
    -- A page of any listing is a range of one of these. The text that q searches rides along, so that a search reads
    -- the index alone and not the bodies.
    CREATE INDEX resources_by_created ON resources (kind, workspace, created_at, uid, search);
    CREATE INDEX resources_by_name ON resources (kind, workspace, name, uid, search);
    CREATE INDEX resources_by_status_created ON resources (kind, workspace, status, created_at, uid, search);
    CREATE INDEX resources_by_status_name ON resources (kind, workspace, status, name, uid, search);
    CREATE INDEX resources_by_parent_created ON resources (kind, workspace, parent, created_at, uid);
    CREATE INDEX resources_by_external_id ON resources (kind, workspace, external_id, created_at, uid)
      WHERE external_id IS NOT NULL;

    CREATE TABLE events (
      id       INTEGER PRIMARY KEY,
      uid      TEXT    NOT NULL,
      time     INTEGER NOT NULL,
      type     TEXT    NOT NULL,
      status   TEXT    NOT NULL,
      message  TEXT    NOT NULL,
      revision TEXT
    ) STRICT;
    CREATE INDEX events_by_uid ON events (uid, id);

    CREATE TABLE subjects (
      id            INTEGER PRIMARY KEY,
      uid           TEXT    NOT NULL UNIQUE,
      workspace     TEXT    NOT NULL,
      resource_type TEXT    NOT NULL,
      name          TEXT    NOT NULL
    ) STRICT;
    CREATE INDEX subjects_by_name ON subjects (name, workspace);

    CREATE TABLE dimensions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

    CREATE TABLE intervals (
      id           INTEGER PRIMARY KEY,
      subject      INTEGER NOT NULL REFERENCES subjects (id),
      dimension    INTEGER NOT NULL REFERENCES dimensions (id),
      quantity     INTEGER NOT NULL CHECK (quantity >= 0),
      from_at      INTEGER NOT NULL,
      to_at        INTEGER CHECK (to_at >= from_at),
      accounted_to INTEGER NOT NULL CHECK (accounted_to >= from_at),
      rolled_to    INTEGER NOT NULL CHECK (rolled_to >= from_at)
    ) STRICT;
    CREATE INDEX intervals_by_subject ON intervals (subject, dimension, from_at);
    CREATE INDEX intervals_to_roll ON intervals (subject) WHERE to_at IS NULL OR rolled_to < to_at;

    CREATE TABLE rollups (
      grain     INTEGER NOT NULL CHECK (grain IN (0, 1, 2)),
      workspace TEXT    NOT NULL,
      start     INTEGER NOT NULL,
      subject   INTEGER NOT NULL REFERENCES subjects (id),
      dimension INTEGER NOT NULL REFERENCES dimensions (id),
      -- Usage in two limbs (high × 2^32 + low): a month of a few terabytes overflows 63 bits.
      high      INTEGER NOT NULL,
      low       INTEGER NOT NULL,
      PRIMARY KEY (grain, workspace, start, subject, dimension)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX rollups_by_subject ON rollups (subject, start, grain);

    CREATE TABLE totals (
      grain         INTEGER NOT NULL CHECK (grain IN (0, 1, 2)),
      workspace     TEXT    NOT NULL,
      start         INTEGER NOT NULL,
      resource_type TEXT    NOT NULL,
      dimension     INTEGER NOT NULL REFERENCES dimensions (id),
      high          INTEGER NOT NULL,
      low           INTEGER NOT NULL,
      PRIMARY KEY (grain, workspace, start, resource_type, dimension)
    ) STRICT, WITHOUT ROWID;
  `,
}
