import type { Migration } from '../migrate.ts'

/**
 * Keys of persons, the workspace that a key means when none is named, and when a key was last used. The first key of an
 * account is its first person's, and goes on meaning the workspace `default`.
 */
export const keyUse: Migration = {
  version: 5,
  name: 'key-use',
  up: `
    -- JSON of { sub, label, expiresIn }; null for keys of resources.
    ALTER TABLE api_keys ADD COLUMN person TEXT;
    ALTER TABLE api_keys ADD COLUMN default_workspace TEXT;
    ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;
    UPDATE api_keys
    SET default_workspace = 'default', person = json_object('sub', name, 'label', name, 'expiresIn', '')
    WHERE id = 'admin' AND owner IS NULL;
    CREATE INDEX api_keys_by_account ON api_keys (account, created_at);
  `,
}
