import type { Migration } from '../migrate.ts'

/**
 * Machines get rows of their own, apart from the records they run for, and resources may name one another.
 *
 * What was remembered of a sandbox's machine in its record moves into an instance. It keeps the sandbox's uid as its id:
 * that is what the driver knows the machine by, and the bill its use. Which driver has it was not written down; '' is
 * the one the host is configured with (`instances/adopt.ts`). A record that has no machine keeps what it remembers of
 * its use and its errors.
 */
export const instances: Migration = {
  version: 3,
  name: 'instances',
  up: `
    CREATE TABLE instances (
      id           TEXT    PRIMARY KEY,
      owner        TEXT    NOT NULL,
      kind         TEXT    NOT NULL,
      workspace    TEXT    NOT NULL,
      parent       TEXT    NOT NULL,
      name         TEXT    NOT NULL,
      revision     TEXT    NOT NULL,
      driver       TEXT    NOT NULL,
      version      INTEGER NOT NULL CHECK (version > 0),
      status       TEXT    NOT NULL,
      address      TEXT,
      image        TEXT,
      created_at   INTEGER NOT NULL,
      started_at   INTEGER,
      turned_at    INTEGER,
      last_used_at INTEGER,
      attempts     INTEGER NOT NULL CHECK (attempts >= 0),
      errors       TEXT    NOT NULL,
      body         TEXT    NOT NULL
    ) STRICT;
    CREATE INDEX instances_by_owner ON instances (owner, created_at, id);
    CREATE INDEX instances_by_key ON instances (kind, workspace, parent, name, created_at, id);

    CREATE TABLE refs (
      uid       TEXT NOT NULL,
      field     TEXT NOT NULL,
      workspace TEXT NOT NULL,
      kind      TEXT NOT NULL,
      parent    TEXT NOT NULL,
      name      TEXT NOT NULL,
      -- The kind of the resource that names the other one: counts by kind read this index alone.
      by_kind   TEXT NOT NULL,
      PRIMARY KEY (uid, field)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX refs_by_target ON refs (kind, workspace, parent, name, by_kind, uid);

    INSERT INTO instances
    SELECT uid, uid, kind, workspace, parent, name, '0', '', 1,
           CASE
             WHEN status IN ('DEACTIVATING', 'DELETING') OR body ->> '$.internal.remake' THEN 'stopping'
             WHEN status = 'DEPLOYING' THEN 'starting'
             WHEN body ->> '$.internal.state' = 'STANDBY' THEN 'standby'
             ELSE 'running'
           END,
           body -> '$.internal.address', body -> '$.internal.image',
           created_at, body ->> '$.internal.turnedAt', body ->> '$.internal.turnedAt', body ->> '$.internal.lastUsedAt',
           coalesce(body ->> '$.internal.attempts', 0), coalesce(body -> '$.internal.errors', '[]'),
           json_object('memoryMb', body ->> '$.spec.runtime.memory')
    FROM resources
    WHERE kind = 'sandbox' AND status IN ('DEPLOYING', 'DEPLOYED', 'DEACTIVATING', 'DELETING');

    UPDATE resources
    SET body = json_remove(body, '$.internal.state', '$.internal.address', '$.internal.image', '$.internal.remake',
                           '$.internal.attempts')
    WHERE kind = 'sandbox';
    UPDATE resources
    SET body = json_remove(body, '$.internal.turnedAt', '$.internal.lastUsedAt', '$.internal.errors')
    WHERE uid IN (SELECT id FROM instances);
  `,
}
