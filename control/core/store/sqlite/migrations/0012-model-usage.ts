import type { Migration } from '../migrate.ts'

/** A row for each call of a model. */
export const modelUsage: Migration = {
  version: 12,
  name: 'model-usage',
  up: `
    CREATE TABLE model_calls (
      id               TEXT PRIMARY KEY,
      time             INTEGER NOT NULL,
      account          TEXT NOT NULL,
      workspace        TEXT NOT NULL,
      model_uid        TEXT NOT NULL,
      model_name       TEXT NOT NULL,
      served           TEXT NOT NULL,
      key              TEXT NOT NULL,
      key_name         TEXT NOT NULL,
      provider         TEXT NOT NULL,
      provider_model   TEXT NOT NULL,
      status           INTEGER NOT NULL,
      input_tokens     INTEGER NOT NULL,
      output_tokens    INTEGER NOT NULL,
      cached_tokens    INTEGER NOT NULL,
      reasoning_tokens INTEGER NOT NULL,
      estimated        INTEGER NOT NULL,
      failure          TEXT NOT NULL,
      ttft_ms          INTEGER,
      duration_ms      INTEGER NOT NULL,
      cost_nanos       INTEGER
    ) STRICT;
    CREATE INDEX model_calls_by_model ON model_calls (model_uid, time);
    CREATE INDEX model_calls_by_workspace ON model_calls (workspace, time);
    CREATE INDEX model_calls_by_key ON model_calls (key, time);
    CREATE INDEX model_calls_by_time ON model_calls (time);
  `,
}
