import type { Migration } from '../migrate.ts'

/** How many resources there are, kept as they come and go: every page of a listing says the total. */
export const counts: Migration = {
  version: 2,
  name: 'counts',
  up: `
    CREATE TABLE counts (
      kind      TEXT    NOT NULL,
      workspace TEXT    NOT NULL,
      parent    TEXT    NOT NULL,
      count     INTEGER NOT NULL,
      PRIMARY KEY (kind, workspace, parent)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO counts SELECT kind, workspace, parent, count(*) FROM resources GROUP BY kind, workspace, parent;
    CREATE TRIGGER counts_up AFTER INSERT ON resources BEGIN
      INSERT INTO counts VALUES (new.kind, new.workspace, new.parent, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
    END;
    CREATE TRIGGER counts_down AFTER DELETE ON resources BEGIN
      UPDATE counts SET count = count - 1
        WHERE kind = old.kind AND workspace = old.workspace AND parent = old.parent;
      DELETE FROM counts
        WHERE kind = old.kind AND workspace = old.workspace AND parent = old.parent AND count = 0;
    END;
  `,
}
