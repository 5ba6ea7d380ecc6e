import type { Migration } from '../migrate.ts'

export const schedules: Migration = {
  version: 11,
  name: 'schedules',
  up: `
    CREATE TABLE schedule_runs (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      owner TEXT NOT NULL,
      workspace TEXT NOT NULL,
      sandbox TEXT NOT NULL,
      entry TEXT NOT NULL,
      status TEXT NOT NULL,
      status_code INTEGER NOT NULL,
      process_name TEXT NOT NULL,
      timeout_s INTEGER NOT NULL,
      error TEXT NOT NULL,
      catch_up INTEGER NOT NULL,
      due_at INTEGER NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX schedule_runs_by_owner ON schedule_runs (owner, entry, seq);
    CREATE INDEX schedule_runs_by_workspace ON schedule_runs (workspace, seq);
    CREATE INDEX schedule_runs_unfinished ON schedule_runs (seq) WHERE status = 'submitting';
  `,
}
